"""Learning the shared hyperparameters by the likelihood of the experts, and the variances of each around them."""

from gpcommittee.training.advice import bound_messages, stopping_advice
from gpcommittee.training.conditional import ConditionalObjective
from gpcommittee.training.families import AUTO, compares_kernels
from gpcommittee.training.fit import fit_hyperparameters
from gpcommittee.training.objective import FactorisedObjective, Objective
from gpcommittee.training.objectives import OBJECTIVES, make_objective
from gpcommittee.training.optimise import Trained, train
from gpcommittee.training.own import EXPERT_VARIANCES, with_own_variances
from gpcommittee.training.prepare import METRICS, TRAINING_EXPERTS, FitOptions, Prepared, most_experts, prepare
from gpcommittee.training.rows import Arranged, ArrangedRows, DividedRows, arrange, divide_in_memory
from gpcommittee.training.space import SearchSpace

__all__ = [
    "AUTO",
    "EXPERT_VARIANCES",
    "METRICS",
    "OBJECTIVES",
    "TRAINING_EXPERTS",
    "Arranged",
    "ArrangedRows",
    "ConditionalObjective",
    "DividedRows",
    "FactorisedObjective",
    "FitOptions",
    "Objective",
    "Prepared",
    "SearchSpace",
    "Trained",
    "arrange",
    "bound_messages",
    "compares_kernels",
    "divide_in_memory",
    "fit_hyperparameters",
    "make_objective",
    "most_experts",
    "prepare",
    "stopping_advice",
    "train",
    "with_own_variances",
]
