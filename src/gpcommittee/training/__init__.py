"""Learning the shared hyperparameters by the factorised marginal likelihood."""

from gpcommittee.training.advice import bound_messages, stopping_advice
from gpcommittee.training.fit import FitOptions, arrange, fit_committee
from gpcommittee.training.objective import FactorisedObjective
from gpcommittee.training.optimise import Trained, train
from gpcommittee.training.space import SearchSpace

__all__ = [
    "FactorisedObjective",
    "FitOptions",
    "SearchSpace",
    "Trained",
    "arrange",
    "bound_messages",
    "fit_committee",
    "stopping_advice",
    "train",
]
