"""Factors of a committee: the ones used last are kept within a memory budget, the others computed again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock

import numpy as np
import torch

from gpcommittee.aggregation import Experts, Neighbourhood, NeighbourhoodSizes
from gpcommittee.engines import Engine
from gpcommittee.engines.allocator import give_back_freed_memory
from gpcommittee.experts import AugmentedFactor, BaseFactor, Committee
from gpcommittee.prediction.factoring import Factor, Factoring, Key
from gpcommittee.prediction.neighbourhood.leaves import find_leaves
from gpcommittee.prediction.neighbourhood.store import LeafStore
from gpcommittee.prediction.together import factor_batches

EXPERT_BLOCK = 16
"""Experts whose moments one task sums. Fixed, so that sums are ordered alike on every engine."""

SWEPT = 2.0**26
"""Bytes of new factors after which freed memory is given back: that of the group before, and of the temporary matrices
between them, which is two fifths of their size with experts of 500 rows."""

COMMUNICATION: Key = (Experts.BASE, 0)


@dataclass(frozen=True)
class Factors:
    """Factors of one group of experts, and the communication expert's.

    Factors that float32 cannot hold are in float64; where augmented ones are, so is a second communication factor.
    """

    communication: BaseFactor
    communication_in_double: BaseFactor | None
    base: Mapping[int, BaseFactor]
    augmented: Mapping[int, AugmentedFactor]


class FactorStore:
    """Computes the factors of a committee and keeps those used last.

    Parameters
    ----------
    committee : Committee
    budget : float
        Bytes that factors may take.
    calibrated : bool
        Whether factors know their dispersion, by which variances are calibrated.

    Attributes
    ----------
    budget : float
        May be changed between predictions.
    largest_jitter : float
        Largest jitter that a factor needed so far, as a share of the mean prior variance.
    in_double : set of int
        Experts that float32 could not factor so far and float64 did.
    """

    def __init__(self, committee: Committee, budget: float, calibrated: bool = False) -> None:
        self.committee = committee
        self.budget = budget
        self.calibrated = calibrated
        self.largest_jitter = 0.0
        self.in_double: set[int] = set()
        self._factoring = Factoring(committee, calibrated)
        self._kept: OrderedDict[Key, Factor] = OrderedDict()
        self._lock = Lock()
        self._rows: list[int] = np.diff(committee.offsets).tolist()
        self._itemsize = float(committee.kernel.dtype.itemsize)
        self._doubled: FactorStore | None = None
        self._leaves: dict[NeighbourhoodSizes, LeafStore] = {}

    def groups(self, kinds: frozenset[Experts], first: int = 0) -> Iterator[range]:
        """Consecutive groups of experts, each a whole number of blocks, whose factors fit the budget together.

        Parameters
        ----------
        kinds : frozenset of Experts
            Forms in which experts are needed.
        first : int
            Number of the first expert.

        Yields
        ------
        range
            Numbers of the experts of one group; a single block may exceed the budget.
        """
        start, used = first, 0.0
        for block in expert_blocks(self._needed(kinds)[first:]):
            size = self._bytes([(kind, expert) for kind in kinds for expert in block])
            if block.start > start and used + size > self.budget:
                yield range(start, block.start)
                start, used = block.start, 0.0
            used += size
        yield range(start, self._needed(kinds).stop)

    def load(self, kinds: frozenset[Experts], experts: Sequence[int], engine: Engine) -> Factors:
        """Factors of the given kinds for some experts, computed on the engine where they are not kept.

        Those used longest ago are forgotten first to make room. Where the budget does not hold what is asked for,
        only the caller holds what was computed.

        Parameters
        ----------
        kinds : frozenset of Experts
        experts : sequence of int
        engine : Engine

        Returns
        -------
        Factors

        Raises
        ------
        NotPositiveDefiniteError
            If an expert's covariance cannot be factored.
        """
        communication = self.communication(engine)
        keys = [(kind, e) for kind in kinds - {Experts.NONE} for e in experts if (kind, e) != (Experts.AUGMENTED, 0)]
        with self._lock:
            keep = self._make_room(keys)
            loaded = {key: self._kept[key] for key in keys if key in self._kept}
        missing = [key for key in keys if key not in loaded]
        tasks, unswept = self._tasks(missing, engine.batch_memory), self._bytes(missing)
        for keys_of_task, found in zip(
            tasks, engine.map(partial(self._factoring.factor_together, communication), tasks), strict=True
        ):
            loaded.update(zip(keys_of_task, found, strict=True))
            if unswept > SWEPT:
                give_back_freed_memory()
                unswept = 0.0
            unswept += self._bytes(keys_of_task)
        self.in_double.update(expert for (_, expert), factor in loaded.items() if self._factoring.is_double(factor))
        self.largest_jitter = max([self.largest_jitter, *(factor.jitter for factor in loaded.values())])
        if keep:
            self._keep(keys, loaded)
        coupled = any(isinstance(f, AugmentedFactor) and self._factoring.is_double(f) for f in loaded.values())
        return Factors(
            communication,
            self._factoring.communication_in_double() if coupled else None,
            {e: f for (_, e), f in loaded.items() if isinstance(f, BaseFactor)},
            {e: f for (_, e), f in loaded.items() if isinstance(f, AugmentedFactor)},
        )

    def doubled(self) -> FactorStore:
        """A store of the same committee in float64, with the same budget."""
        if self._doubled is None:
            self._doubled = FactorStore(self.committee.as_type(torch.float64), self.budget, self.calibrated)
        self._doubled.budget = self.budget
        return self._doubled

    def neighbourhood(self, rule: Neighbourhood) -> LeafStore:
        """Neighbourhood experts of a rule's sizes, with what these factors leave of the budget."""
        sizes = rule.sizes(int(self.committee.offsets[-1]), self.committee.n_experts, self.committee.X.shape[1])
        if sizes not in self._leaves:
            self._leaves = {sizes: LeafStore(self.committee, find_leaves(self.committee, sizes), self.calibrated)}
        found = self._leaves[sizes]
        found.budget = max(0.0, self.budget - self._bytes(self._kept))
        return found

    def note(self, leaves: LeafStore) -> None:
        """Take note of the jitter and precision that neighbourhood experts needed."""
        self.largest_jitter = max(self.largest_jitter, leaves.largest_jitter)
        self.in_double |= leaves.in_double

    def __reduce__(self) -> tuple[type[FactorStore], tuple[Committee, float, bool]]:
        """Pickled without the kept factors, which are larger than the data and can be computed again."""
        return FactorStore, (self.committee, self.budget, self.calibrated)

    def _keep(self, keys: Sequence[Key], factors: Mapping[Key, Factor]) -> None:
        """Keep factors, for which room was made, as those used last."""
        with self._lock:
            for key in keys:
                self._kept[key] = factors[key]
                self._kept.move_to_end(key)

    def _make_room(self, keys: Sequence[Key]) -> bool:
        """Whether the budget holds these factors; forgets others, those used longest ago first, until it does."""
        self._leaves.clear()
        wanted = set(keys)
        others = [key for key in self._kept if key not in wanted and key != COMMUNICATION]
        used = self._bytes([*wanted, *others])
        for key in others:
            if used <= self.budget:
                break
            del self._kept[key]
            used -= self._size(key)
        return used <= self.budget

    def _tasks(self, keys: Sequence[Key], memory: float) -> list[list[Key]]:
        """Factors to be computed together, of one form each; the communication expert's is there already."""
        known = [[key] for key in keys if key[1] == 0]
        kinds = dict.fromkeys(kind for kind, _ in keys)
        return known + [
            [(kind, expert) for expert in batch]
            for kind in kinds
            for batch in factor_batches(self.committee, [e for k, e in keys if k is kind and e > 0], memory)
        ]

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
            (factor,) = engine.map(lambda factoring: factoring.communication(), [self._factoring])
            self.largest_jitter = max(self.largest_jitter, factor.jitter)
            self._kept[COMMUNICATION] = factor
        return factor

    def _bytes(self, keys: Iterable[Key]) -> float:
        """Bytes of some factors."""
        return sum(map(self._size, keys))

    def _size(self, key: Key) -> float:
        """Bytes of one factor; the communication expert's is always kept and not counted."""
        kind, expert = key
        if expert == 0 or kind is Experts.NONE:
            return 0.0
        own = self._rows[expert]
        return self._itemsize * own * (own + self._rows[0] if kind is Experts.AUGMENTED else own)


def expert_blocks(experts: range) -> list[range]:
    """Blocks of ``EXPERT_BLOCK`` consecutive experts, the last one shorter."""
    return [experts[start : start + EXPERT_BLOCK] for start in range(0, len(experts), EXPERT_BLOCK)]
