"""Experts as they are seen from afar, and what they say at test points together."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpcommittee.experts import Committee
from gpcommittee.linalg import subtract_product
from gpcommittee.prediction.compression import Largest
from gpcommittee.prediction.reference_view import ReferenceView
from gpcommittee.records import IntArray
from gpcommittee.scratch import Scratch

AT_ONCE = 8
"""Experts that are evaluated together: few, so that what is passed over again and again stays in the cache."""


@dataclass(frozen=True)
class FarField:
    """Compressed experts of a committee.

    Attributes
    ----------
    experts : ndarray of int64, shape (n_experts,)
        Their numbers, ascending.
    X : Tensor, shape (n_experts, p, n_features)
        Rows that stand for each.
    coupling : Tensor of shape (n_experts, p, m_c), or None
        Their cross-covariance with the communication rows, whitened; None where the prior is the reference.
    log_dispersion : Tensor, shape (n_experts,)
    known : Largest
        What experts may say; infinite where one is not compressed, or too near.
    map : Tensor, shape (n_experts, p, p + 1)
        From their covariance with a point to what the expert says there; zero beyond the rank of an expert.
    errors : Largest
        How far that may be off; infinite as above.
    """

    experts: IntArray
    X: Tensor
    coupling: Tensor | None
    log_dispersion: Tensor
    known: Largest
    map: Tensor
    errors: Largest

    def says(
        self, committee: Committee, at: ReferenceView, numbers: IntArray, scratch: Scratch
    ) -> tuple[Tensor, Tensor]:
        """What some experts say at some points.

        Parameters
        ----------
        committee : Committee
        at : ReferenceView
        numbers : ndarray of int64, shape (k,)
            Places of the experts in the arrays.
        scratch : Scratch

        Returns
        -------
        gain, shift : Tensor, shape (n_points, k)
            Variance that each takes away, and shift of the mean, against the reference.
        """
        gain = at.prior.new_empty(len(numbers), len(at.x))
        shift = torch.empty_like(gain)
        for start in range(0, len(numbers), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            self._say(committee, at, torch.from_numpy(numbers[part]), scratch, gain[part], shift[part])
        return gain.mT, shift.mT

    def _say(
        self, committee: Committee, at: ReferenceView, chosen: Tensor, scratch: Scratch, gain: Tensor, shift: Tensor
    ) -> None:
        k, p = len(chosen), self.X.shape[1]
        residual = committee.covariance(at.x, self.X[chosen].flatten(0, 1), scratch)
        if self.coupling is not None:
            residual = subtract_product(residual, at.projection.whitened, self.coupling[chosen].flatten(0, 1).mT)
        told = scratch.take("told", (k, p + 1, len(at.x)), residual)
        torch.bmm(self.map[chosen].mT, residual.view(-1, k, p).permute(1, 2, 0), out=told)
        shift.copy_(told[:, -1])
        torch.sum(told[:, :-1].square_(), dim=1, out=gain)
