"""Values and gradients of experts' negative log marginal likelihoods, one by one or in batches."""

from gpcommittee.likelihood.marginal import negative_log_marginal, value_and_gradient
from gpcommittee.likelihood.together import values_and_gradient

__all__ = ["negative_log_marginal", "value_and_gradient", "values_and_gradient"]
