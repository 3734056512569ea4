"""Streaming prediction: many rules in one pass over experts and test points."""

from gpcommittee.prediction.budget import factor_budget, usable_memory
from gpcommittee.prediction.factors import FactorStore
from gpcommittee.prediction.predict import predict_rules

__all__ = ["FactorStore", "factor_budget", "predict_rules", "usable_memory"]
