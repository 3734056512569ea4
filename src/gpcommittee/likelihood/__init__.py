"""Value and gradient of one expert's negative log marginal likelihood."""

from gpcommittee.likelihood.marginal import negative_log_marginal, value_and_gradient

__all__ = ["negative_log_marginal", "value_and_gradient"]
