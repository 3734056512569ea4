"""Factors of a committee, kept while they fit a memory budget and computed again where they do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from gpcommittee.aggregation import Experts
from gpcommittee.engines import Engine
from gpcommittee.experts import AugmentedFactor, BaseFactor, Committee, factor_augmented, factor_base

EXPERT_BLOCK = 16
"""Experts whose moments one task sums. Fixed, so that sums are ordered alike on every engine."""

Key = tuple[Experts, int]
Factor = BaseFactor | AugmentedFactor
F = TypeVar("F", bound=Factor)


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
        Bytes that kept factors, or the factors of one group of experts, may take.

    Attributes
    ----------
    largest_jitter : float
        Largest jitter that a factor needed so far, as a share of its mean diagonal.
    """

    def __init__(self, committee: Committee, budget: float) -> None:
        self.committee = committee
        self.budget = budget
        self._forget()

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
        for block in expert_blocks(range(self._n_needed(kinds))):
            size = sum(self._bytes(kind, expert) for kind in kinds for expert in block)
            if block.start > start and used + size > self.budget:
                yield range(start, block.start)
                start, used = block.start, 0.0
            used += size
        yield range(start, self._n_needed(kinds))

    def load(self, kinds: frozenset[Experts], experts: range, engine: Engine) -> Factors:
        """Factors of the given kinds for a group of experts, computed on the engine where they are not kept.

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
        communication = self.communication()
        keys = [(kind, e) for kind in kinds - {Experts.NONE} for e in experts if (kind, e) != (Experts.AUGMENTED, 0)]
        missing = [key for key in keys if key not in self._kept]
        factor = partial(_factor, self.committee, communication)
        loaded: dict[Key, Factor] = {key: self._kept[key] for key in keys if key in self._kept}
        for key, value in zip(missing, engine.map(factor, missing), strict=True):
            loaded[key] = self._keep(key, value)
        return Factors(
            communication,
            {e: f for (_, e), f in loaded.items() if isinstance(f, BaseFactor)},
            {e: f for (_, e), f in loaded.items() if isinstance(f, AugmentedFactor)},
        )

    def __getstate__(self) -> dict[str, Any]:
        """Pickled without the kept factors, which are larger than the data and can be computed again."""
        return {"committee": self.committee, "budget": self.budget}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def _forget(self) -> None:
        self.largest_jitter = 0.0
        self._kept: dict[Key, Factor] = {}
        self._kept_bytes = 0.0

    def _n_needed(self, kinds: frozenset[Experts]) -> int:
        return 1 if kinds == {Experts.NONE} else self.committee.n_experts

    def communication(self) -> BaseFactor:
        """Factor of the communication expert.

        Returns
        -------
        BaseFactor

        Raises
        ------
        NotPositiveDefiniteError
            If its covariance cannot be factored.
        """
        key = (Experts.BASE, 0)
        kept = self._kept.get(key)
        return kept if isinstance(kept, BaseFactor) else self._keep(key, factor_base(self.committee, 0))

    def _keep(self, key: Key, factor: F) -> F:
        self.largest_jitter = max(self.largest_jitter, factor.jitter)
        size = self._bytes(*key)
        if self._kept_bytes + size <= self.budget:
            self._kept[key] = factor
            self._kept_bytes += size
        return factor

    def _bytes(self, kind: Experts, expert: int) -> float:
        sizes = self.committee.offsets[1:] - self.committee.offsets[:-1]
        coupled = {Experts.NONE: 0, Experts.BASE: sizes[expert], Experts.AUGMENTED: sizes[expert] + sizes[0]}
        return float(sizes[expert] * coupled[kind] * self.committee.X.element_size())


def expert_blocks(experts: range) -> list[range]:
    """Blocks of ``EXPERT_BLOCK`` consecutive experts, the last one shorter."""
    return [experts[start : start + EXPERT_BLOCK] for start in range(0, len(experts), EXPERT_BLOCK)]


def _factor(committee: Committee, communication: BaseFactor, key: Key) -> Factor:
    kind, expert = key
    if kind is Experts.AUGMENTED:
        return factor_augmented(committee, communication, expert)
    return communication if expert == 0 else factor_base(committee, expert)
