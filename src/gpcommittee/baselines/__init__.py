"""What a committee is compared with, behind one interface: ``Baseline.fit(X, y).predict(X) -> (mean, std)``."""

from gpcommittee.baselines.full_gp import FullGP
from gpcommittee.baselines.global_expert import GlobalExpert
from gpcommittee.baselines.interface import Baseline, FittedBaseline
from gpcommittee.baselines.subset_of_data import SubsetOfData

__all__ = ["Baseline", "FittedBaseline", "FullGP", "GlobalExpert", "SubsetOfData"]
