"""What a committee sees at a chunk of test points: the rules' context, and the moments of one expert at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import torch
from torch import Tensor

from gpcommittee.aggregation import Context, Experts
from gpcommittee.engines import Engine, map_parts
from gpcommittee.experts import (
    AugmentedFactor,
    BaseFactor,
    Committee,
    Projection,
    augmented_moments,
    base_moments,
    moments_as,
    project,
    stack_augmented,
    stack_base,
)
from gpcommittee.prediction.factors import Factors
from gpcommittee.prediction.together import moments_together
from gpcommittee.records import Moments
from gpcommittee.scratch import ScratchPool


class View:
    """A committee's view of a chunk of test points.

    Parameters
    ----------
    committee : Committee
    factors : Factors
        Of the experts whose moments will be asked for.
    x : Tensor, shape (n_points, n_features)
        Standardised test inputs.
    with_communication : bool
        Whether rules need the communication expert's moments, or augmented experts.

    Attributes
    ----------
    context : Context
    """

    def __init__(self, committee: Committee, factors: Factors, x: Tensor, with_communication: bool) -> None:
        self._committee = committee
        self._factors = factors
        self._x = x
        self._memory = ScratchPool()
        self._ready: dict[tuple[Experts, int], Moments] = {}
        prior = committee.prior_variance(x)
        known = [factors.communication, factors.communication_in_double] if with_communication else []
        self._projections: Mapping[torch.dtype, Projection] = {
            factor.lower.dtype: project(committee, factor, x, prior) for factor in known if factor is not None
        }
        own = self._projections.get(factors.communication.lower.dtype)
        moments = None if own is None else moments_as(x.dtype, own.moments)
        self.context = Context(prior, moments, committee.noise_variance, committee.own is not None)

    def number(self, expert: int) -> int:
        """Number of an expert in the whole committee."""
        return self._committee.number(expert)

    def prepare(self, experts: Sequence[int], memory: float) -> None:
        """Compute moments of experts in batches, for ``moments`` to hand out.

        Parameters
        ----------
        experts : sequence of int
        memory : float
            Bytes that a batch may take. Experts in another precision than the committee's are left to ``moments``.
        """
        own, base, augmented = self._committee.kernel.dtype, self._factors.base, self._factors.augmented
        some = [e for e in experts if e in base and base[e].lower.dtype == own and not self._is_known(e)]
        together = partial(moments_together, n_points=len(self._x), memory=memory)
        for expert, moments in together(base, some, stack_base, self._base):
            self._ready[Experts.BASE, expert] = moments
        some = [e for e in experts if e in augmented and augmented[e].lower.dtype == own]
        for expert, moments in together(augmented, some, stack_augmented, self._augmented):
            self._ready[Experts.AUGMENTED, expert] = moments

    def prepare_apart(self, experts: Sequence[int], engine: Engine) -> None:
        """Compute moments of experts, each by a task of its own, for ``moments`` to hand out.

        Parameters
        ----------
        experts : sequence of int
        engine : Engine
        """
        for expert, found in zip(experts, map_parts(engine, torch.no_grad()(self.moments), experts), strict=True):
            self._ready.update({(form, expert): moments for form, moments in found.items()})

    def moments(self, expert: int) -> Mapping[Experts, Moments]:
        """Moments of one expert in each form that has a factor; the communication expert's projection serves both."""
        found: dict[Experts, Moments] = {}
        if self._is_known(expert) and self.context.communication is not None:
            found[Experts.BASE] = self.context.communication
        elif expert in self._factors.base:
            ready = self._ready.pop((Experts.BASE, expert), None)
            found[Experts.BASE] = ready or self._base(self._factors.base[expert])
        if expert in self._factors.augmented:
            ready = self._ready.pop((Experts.AUGMENTED, expert), None)
            found[Experts.AUGMENTED] = ready or self._augmented(self._factors.augmented[expert])
        return found

    def _is_known(self, expert: int) -> bool:
        return expert == 0 and self.context.communication is not None

    def _base(self, factor: BaseFactor) -> Moments:
        with self._memory.borrow() as scratch:
            return base_moments(self._committee, factor, self._x, self.context.prior_variance, scratch)

    def _augmented(self, factor: AugmentedFactor) -> Moments:
        projection = self._projections[factor.lower.dtype]
        prior = self.context.prior_variance
        with self._memory.borrow() as scratch:
            return augmented_moments(self._committee, factor, projection, self._x, prior, scratch)
