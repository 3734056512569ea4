"""Factors of neighbourhood experts: those used last are kept within a memory budget, the others made again."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from functools import cached_property, partial
from threading import Lock

import numpy as np
import torch
from scipy.spatial import cKDTree

from gpcommittee.aggregation.neighbourhood import NeighbourhoodSizes
from gpcommittee.errors import NotPositiveDefiniteError
from gpcommittee.experts import Committee
from gpcommittee.experts.neighbourhood import NeighbourhoodFactor, factor_neighbourhood
from gpcommittee.prediction.neighbourhood.leaves import Leaves
from gpcommittee.records import FloatArray
from gpcommittee.scratch import ScratchPool


class LeafStore:
    """Makes the factors of neighbourhood experts and keeps those used last. Threads may share it.

    Parameters
    ----------
    committee : Committee
    leaves : Leaves
        Of its rows.
    calibrated : bool
        Whether variances are multiplied by a local scale.
    budget : float, default=0
        Bytes that kept factors may take.

    Attributes
    ----------
    budget : float
        May be changed between predictions.
    largest_jitter : float
        Largest jitter that a factor needed so far, as a share of the mean prior variance.
    in_double : set of int
        Experts with a leaf whose factor float32 could not hold and float64 did.
    """

    def __init__(self, committee: Committee, leaves: Leaves, calibrated: bool, budget: float = 0.0) -> None:
        self.committee = committee
        self.leaves = leaves
        self.calibrated = calibrated
        self.budget = budget
        self.largest_jitter = 0.0
        self.in_double: set[int] = set()
        self._kept: OrderedDict[int, NeighbourhoodFactor] = OrderedDict()
        self._used = 0.0
        self._lock = Lock()
        self._memory = ScratchPool()

    def __reduce__(self) -> tuple[type[LeafStore], tuple[Committee, Leaves, bool, float]]:
        """Pickled without the kept factors and trees, which can be made again."""
        return LeafStore, (replace(self.committee), replace(self.leaves), self.calibrated, self.budget)

    def __sizeof__(self) -> int:
        """Bytes of its rows and of the factors that it may come to keep, by which Dask decides what to move."""
        itemsize, n_leaves = self.committee.kernel.dtype.itemsize, self.leaves.n_leaves
        factors = n_leaves * itemsize * float(max(self.sizes.n_rows, self.sizes.leaf_size)) ** 2
        return int(4 * self.leaves.points.nbytes + min(self.budget, factors))

    @property
    def sizes(self) -> NeighbourhoodSizes:
        return self.leaves.sizes

    def factor(self, leaf: int) -> NeighbourhoodFactor:
        """Factor of one leaf's expert.

        Raises
        ------
        NotPositiveDefiniteError
            If its noisy covariance cannot be factored.
        """
        with self._lock:
            if leaf in self._kept:
                self._kept.move_to_end(leaf)
                return self._kept[leaf]
        factor = self._made(leaf)
        with self._lock:
            self.largest_jitter = max(self.largest_jitter, factor.jitter)
            if factor.lower.dtype != self.committee.kernel.dtype:
                self.in_double.add(int(self.leaves.experts[leaf]))
            self._keep(leaf, factor)
        return factor

    @cached_property
    def _own(self) -> FloatArray | None:
        """Signal and relative noise variance of every row's own, shape (2, n_rows); None where they are shared.

        Rows of the communication set, which lie everywhere, have those of the nearest row of another expert.
        """
        own, offsets, points = self.committee.own, self.committee.offsets, self.leaves.points
        if own is None:
            return None
        experts = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        first = int(offsets[1])
        if first < len(points):
            experts[:first] = experts[first:][cKDTree(points[first:]).query(points[:first])[1]]
        return np.stack([own.signal[experts], (own.noise / own.signal)[experts]])

    def _made(self, leaf: int) -> NeighbourhoodFactor:
        places, n_middle = self.leaves.rows_of(leaf)
        rows, expert = self.leaves.numbers[places], int(self.leaves.experts[leaf])
        with self._memory.borrow() as scratch:
            make = partial(
                factor_neighbourhood,
                scales=self.leaves.scales,
                rows=rows,
                own=None if self._own is None else self._own[:, places],
                expert=expert,
                n_middle=n_middle,
                calibrated=self.calibrated,
                scratch=scratch,
            )
            try:
                return make(self.committee)
            except NotPositiveDefiniteError:
                if self.committee.kernel.dtype == torch.float64:
                    raise
            return make(self.committee.as_type(torch.float64))

    def _keep(self, leaf: int, factor: NeighbourhoodFactor) -> None:
        """Keep a factor if the budget holds it, and forget those used longest ago to make room."""
        if leaf in self._kept or factor.n_bytes > self.budget:
            return
        self._kept[leaf] = factor
        self._used += factor.n_bytes
        while self._used > self.budget:
            _, forgotten = self._kept.popitem(last=False)
            self._used -= forgotten.n_bytes
