"""Factors of neighbourhood experts: those used last are kept within a memory budget, the others made again."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

import numpy as np
import torch

from gpcommittee.aggregation.neighbourhood import NeighbourhoodSizes
from gpcommittee.errors import NotPositiveDefiniteError
from gpcommittee.experts import Committee
from gpcommittee.experts.neighbourhood import NeighbourhoodFactor, factor_neighbourhood
from gpcommittee.prediction.neighbourhood.leaves import Leaves
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

    Attributes
    ----------
    budget : float
        Bytes that kept factors may take; may be changed between predictions.
    largest_jitter : float
        Largest jitter that a factor needed so far, as a share of the mean prior variance.
    in_double : set of int
        Experts with a leaf whose factor float32 could not hold and float64 did.
    """

    def __init__(self, committee: Committee, leaves: Leaves, calibrated: bool) -> None:
        self.committee = committee
        self.leaves = leaves
        self.calibrated = calibrated
        self.budget = 0.0
        self.largest_jitter = 0.0
        self.in_double: set[int] = set()
        self._kept: OrderedDict[int, NeighbourhoodFactor] = OrderedDict()
        self._used = 0.0
        self._lock = Lock()
        self._memory = ScratchPool()

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

    def _made(self, leaf: int) -> NeighbourhoodFactor:
        places, n_middle = self.leaves.rows_of(leaf)
        rows, expert = self.leaves.numbers[places], int(self.leaves.experts[leaf])
        own, noise = self.committee.own, None
        if own is not None:
            experts = np.searchsorted(self.committee.offsets, places, side="right") - 1
            noise = (own.noise / own.signal)[experts]
        rest = self.leaves.scales, rows, noise, expert, n_middle if self.calibrated else 0
        with self._memory.borrow() as scratch:
            try:
                return factor_neighbourhood(self.committee, *rest, scratch)
            except NotPositiveDefiniteError:
                if self.committee.kernel.dtype == torch.float64:
                    raise
            return factor_neighbourhood(self.committee.as_type(torch.float64), *rest, scratch)

    def _keep(self, leaf: int, factor: NeighbourhoodFactor) -> None:
        """Keep a factor if the budget holds it, and forget those used longest ago to make room."""
        if leaf in self._kept or factor.n_bytes > self.budget:
            return
        self._kept[leaf] = factor
        self._used += factor.n_bytes
        while self._used > self.budget:
            _, forgotten = self._kept.popitem(last=False)
            self._used -= forgotten.n_bytes
