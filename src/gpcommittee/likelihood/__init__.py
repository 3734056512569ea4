"""Values and gradients of experts' negative log likelihoods, marginal or given the communication set."""

from gpcommittee.likelihood.conditional import (
    ConditionalTerm,
    Conditioning,
    communication_gradient,
    condition_on,
    conditional_term,
    conditional_value,
    own_derivative,
)
from gpcommittee.likelihood.marginal import negative_log_marginal, value_and_gradient
from gpcommittee.likelihood.together import values_and_gradient

__all__ = [
    "ConditionalTerm",
    "Conditioning",
    "communication_gradient",
    "condition_on",
    "conditional_term",
    "conditional_value",
    "negative_log_marginal",
    "own_derivative",
    "value_and_gradient",
    "values_and_gradient",
]
