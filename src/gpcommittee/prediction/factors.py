"""Factors of a committee, kept while they fit a memory budget and computed again where they do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import partial

import numpy as np

from gpcommittee.aggregation import Experts
from gpcommittee.engines import Engine
from gpcommittee.experts import AugmentedFactor, BaseFactor, Committee, factor_augmented, factor_base

EXPERT_BLOCK = 16
"""Experts whose moments one task sums. Fixed, so that sums are ordered alike on every engine."""

Key = tuple[Experts, int]
Factor = BaseFactor | AugmentedFactor
COMMUNICATION: Key = (Experts.BASE, 0)


@dataclass(frozen=True)
class Factors:
    """Factors of one group of experts, and the communication expert's."""

    communication: BaseFactor
    base: Mapping[int, BaseFactor]
    augmented: Mapping[int, AugmentedFactor]


class FactorStore:
    """Computes the factors of a committee and keeps what fits.

    Parameters
    ----------
    committee : Committee
    budget : float
        Bytes that factors may take.

    Attributes
    ----------
    budget : float
        May be changed between predictions.
    largest_jitter : float
        Largest jitter that a factor needed so far, as a share of the mean prior variance.
    """

    def __init__(self, committee: Committee, budget: float) -> None:
        self.committee = committee
        self.budget = budget
        self.largest_jitter = 0.0
        self._kept: dict[Key, Factor] = {}

    def groups(self, kinds: frozenset[Experts]) -> Iterator[range]:
        """Consecutive groups of experts, each a whole number of blocks, whose factors fit the budget together.

        Parameters
        ----------
        kinds : frozenset of Experts
            Forms in which experts are needed.

        Yields
        ------
        range
            Numbers of the experts of one group; a single block may exceed the budget.
        """
        start, used = 0, 0.0
        for block in expert_blocks(self._needed(kinds)):
            size = self._bytes(kinds, block)
            if block.start > start and used + size > self.budget:
                yield range(start, block.start)
                start, used = block.start, 0.0
            used += size
        yield range(start, self._needed(kinds).stop)

    def load(self, kinds: frozenset[Experts], experts: range, engine: Engine) -> Factors:
        """Factors of the given kinds for a group of experts, computed on the engine where they are not kept.

        They are kept if the budget holds those of all experts; otherwise only the caller holds them.

        Parameters
        ----------
        kinds : frozenset of Experts
        experts : range
            From ``groups``.
        engine : Engine

        Returns
        -------
        Factors

        Raises
        ------
        NotPositiveDefiniteError
            If an expert's covariance cannot be factored.
        """
        keep = self._make_room(kinds)
        communication = self.communication(engine)
        keys = [(kind, e) for kind in kinds - {Experts.NONE} for e in experts if (kind, e) != (Experts.AUGMENTED, 0)]
        loaded = {key: self._kept[key] for key in keys if key in self._kept}
        missing = [key for key in keys if key not in loaded]
        loaded.update(zip(missing, engine.map(partial(_factor, self.committee, communication), missing), strict=True))
        self.largest_jitter = max([self.largest_jitter, *(factor.jitter for factor in loaded.values())])
        if keep:
            self._kept.update(loaded)
        return Factors(
            communication,
            {e: f for (_, e), f in loaded.items() if isinstance(f, BaseFactor)},
            {e: f for (_, e), f in loaded.items() if isinstance(f, AugmentedFactor)},
        )

    def __reduce__(self) -> tuple[type[FactorStore], tuple[Committee, float]]:
        """Pickled without the kept factors, which are larger than the data and can be computed again."""
        return FactorStore, (self.committee, self.budget)

    def _make_room(self, kinds: frozenset[Experts]) -> bool:
        """Whether the factors of these kinds may be kept; forgets the others where they do not fit beside them."""
        kept_kinds = {kind for kind, expert in self._kept if expert > 0}
        if self._bytes(kinds | kept_kinds, self._needed(kinds)) <= self.budget:
            return True
        self._kept = {key: factor for key, factor in self._kept.items() if key == COMMUNICATION}
        return self._bytes(kinds, self._needed(kinds)) <= self.budget

    def _needed(self, kinds: frozenset[Experts]) -> range:
        return range(1 if kinds == {Experts.NONE} else self.committee.n_experts)

    def communication(self, engine: Engine) -> BaseFactor:
        """Factor of the communication expert.

        Parameters
        ----------
        engine : Engine

        Returns
        -------
        BaseFactor

        Raises
        ------
        NotPositiveDefiniteError
            If its covariance cannot be factored.
        """
        factor = self._kept.get(COMMUNICATION)
        if not isinstance(factor, BaseFactor):
            (factor,) = engine.map(partial(factor_base, self.committee), [0])
            self.largest_jitter = max(self.largest_jitter, factor.jitter)
            self._kept[COMMUNICATION] = factor
        return factor

    def _bytes(self, kinds: Set[Experts], experts: range) -> float:
        """Bytes of the factors of a range of experts; the communication expert's are always kept and not counted."""
        sizes = np.diff(self.committee.offsets)
        own = sizes[max(experts.start, 1) : experts.stop].astype(float)
        values = {Experts.NONE: 0.0, Experts.BASE: own @ own, Experts.AUGMENTED: own @ (own + sizes[0])}
        return float(sum(values[kind] for kind in kinds)) * self.committee.X.element_size()


def expert_blocks(experts: range) -> list[range]:
    """Blocks of ``EXPERT_BLOCK`` consecutive experts, the last one shorter."""
    return [experts[start : start + EXPERT_BLOCK] for start in range(0, len(experts), EXPERT_BLOCK)]


def _factor(committee: Committee, communication: BaseFactor, key: Key) -> Factor:
    kind, expert = key
    if kind is Experts.AUGMENTED:
        return factor_augmented(committee, communication, expert)
    return communication if expert == 0 else factor_base(committee, expert)
