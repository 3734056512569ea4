"""Streaming prediction: many rules in one pass over experts and test points."""

from gpcommittee.prediction.budget import factor_budget, usable_memory
from gpcommittee.prediction.covariance import npae_covariance
from gpcommittee.prediction.factors import FactorStore
from gpcommittee.prediction.predict import predict_rules, scaled
from gpcommittee.prediction.request import Request

__all__ = [
    "FactorStore",
    "Request",
    "factor_budget",
    "npae_covariance",
    "predict_rules",
    "scaled",
    "usable_memory",
]
