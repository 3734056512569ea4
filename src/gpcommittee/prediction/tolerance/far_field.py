"""Experts as they are seen from afar, and what they say at test points together."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpcommittee.experts import Committee
from gpcommittee.linalg import subtract_product
from gpcommittee.prediction.reference_view import ReferenceView
from gpcommittee.prediction.tolerance.by_distance import StepArray
from gpcommittee.prediction.tolerance.compression import Largest
from gpcommittee.records import IntArray
from gpcommittee.scratch import Scratch

AT_ONCE = 8
"""Experts that are evaluated together: few, so that what is passed over again and again stays in the cache."""


@dataclass(frozen=True)
class Said:
    """What experts say at some points, each of shape (n_points, k).

    Attributes
    ----------
    gain : Tensor
        Variance that each takes away, against the reference.
    shift : Tensor
        Of the mean, against the reference's.
    gain_apart, shift_apart : Tensor
        By how much half of their rows say something else.
    """

    gain: Tensor
    shift: Tensor
    gain_apart: Tensor
    shift_apart: Tensor


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
    half : Tensor, shape (n_experts, h, h + 1)
        The same from the first h of their rows.
    errors : Largest
        How far the map may be off; infinite as above.
    """

    experts: IntArray
    X: Tensor
    coupling: Tensor | None
    log_dispersion: Tensor
    known: Largest
    map: Tensor
    half: Tensor
    errors: Largest

    def says(self, committee: Committee, at: ReferenceView, numbers: IntArray, scratch: Scratch) -> Said:
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
        Said
        """
        said, half = (at.prior.new_empty(2, len(numbers), len(at.x)) for _ in range(2))
        for start in range(0, len(numbers), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            chosen = torch.from_numpy(numbers[part])
            residual = self._residual(committee, at, chosen, scratch)
            _say(self.map[chosen], residual, scratch, said[:, part])
            _say(self.half[chosen], residual, scratch, half[:, part])
        apart = half.sub_(said).abs_()
        return Said(said[0].mT, said[1].mT, apart[0].mT, apart[1].mT)

    def off(self, said: Said, numbers: IntArray, steps: StepArray, reference: Tensor) -> tuple[Tensor, Tensor]:
        """By how much what experts say may be off, infinite where one is too near for its compressed form.

        The largest error that was seen so far away, or by how much half of the rows say something else where that is
        more: there what the point sees is like nothing that was seen.

        Parameters
        ----------
        said : Said
        numbers : ndarray of int64, shape (k,)
            Places of the experts in the arrays.
        steps : ndarray of int8, shape (n_points, k)
            Of the distances.
        reference : Tensor, shape (n_points, 1)
            Variance of the reference.

        Returns
        -------
        gain, shift : Tensor, shape (n_points, k)
        """
        errors = (torch.from_numpy(values[numbers, steps]) for values in (self.errors.gain, self.errors.shift))
        gain, shift = (error * unit for error, unit in zip(errors, (reference, reference.sqrt()), strict=True))
        raised = torch.maximum(said.gain_apart / gain, said.shift_apart / shift).clamp_min_(1.0)
        return gain * raised, shift * raised

    def _residual(self, committee: Committee, at: ReferenceView, chosen: Tensor, scratch: Scratch) -> Tensor:
        """Covariance of points with rows of experts given the reference, shape (k, p, n_points)."""
        p = self.X.shape[1]
        residual = committee.covariance(at.x, self.X[chosen].flatten(0, 1), scratch)
        if self.coupling is not None:
            residual = subtract_product(residual, at.projection.whitened, self.coupling[chosen].flatten(0, 1).mT)
        return residual.view(-1, len(chosen), p).permute(1, 2, 0)


def _say(map_: Tensor, residual: Tensor, scratch: Scratch, said: Tensor) -> None:
    """Gain and shift, shape (2, k, n_points), from as many of the rows as the map takes."""
    k, p, _ = map_.shape
    told = scratch.take("told", (k, p + 1, residual.shape[2]), residual)
    torch.bmm(map_.mT, residual[:, :p], out=told)
    said[1].copy_(told[:, -1])
    torch.sum(told[:, :-1].square_(), dim=1, out=said[0])
