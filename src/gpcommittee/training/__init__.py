"""Learning the shared hyperparameters by the factorised marginal likelihood."""

from gpcommittee.training.advice import bound_messages, stopping_advice
from gpcommittee.training.fit import fit_committee
from gpcommittee.training.objective import FactorisedObjective
from gpcommittee.training.optimise import Trained, train
from gpcommittee.training.prepare import METRICS, FitOptions, Prepared, arrange, most_experts, prepare
from gpcommittee.training.space import SearchSpace

__all__ = [
    "METRICS",
    "FactorisedObjective",
    "FitOptions",
    "Prepared",
    "SearchSpace",
    "Trained",
    "arrange",
    "bound_messages",
    "fit_committee",
    "most_experts",
    "prepare",
    "stopping_advice",
    "train",
]
