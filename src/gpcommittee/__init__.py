"""Gaussian-process regression on large data by a committee of experts."""

from gpcommittee.errors import GPCommitteeError, GPCommitteeWarning
from gpcommittee.estimator import CommitteeRegressor
from gpcommittee.presets import paper_committee

__version__ = "0.1.0"

__all__ = ["CommitteeRegressor", "GPCommitteeError", "GPCommitteeWarning", "__version__", "paper_committee"]
