"""Prediction by neighbourhood experts: leaves, the rows around them, and how their experts are blended.

References
----------
Vecchia (1988), JRSS B 50(2): a process conditioned on nearby rows alone. Gramacy and Apley (2015), JCGS 24(2), laGP: an
expert of its own for every point. Datta et al. (2016), JASA 111(514), NNGP, and Quiroz et al. (2023), Statistics and
Computing 33, block-NNGP: neighbours of single rows and of blocks. Allison et al. (2023), NeurIPS, GPnn: predictions
from nearest rows are robust to the hyperparameters.
"""

from gpcommittee.prediction.neighbourhood.leave_one_out import leave_one_out, left_out_rows
from gpcommittee.prediction.neighbourhood.leaves import Leaves, find_leaves
from gpcommittee.prediction.neighbourhood.predict import blended_moments
from gpcommittee.prediction.neighbourhood.store import LeafStore

__all__ = ["LeafStore", "Leaves", "blended_moments", "find_leaves", "leave_one_out", "left_out_rows"]
