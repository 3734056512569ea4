"""Factors, one by one or in batches: in the committee's precision, or in float64 where float32 cannot hold them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Lock
from typing import TypeVar

import torch

from gpcommittee.aggregation import Experts
from gpcommittee.errors import NotPositiveDefiniteError
from gpcommittee.experts import (
    AugmentedFactor,
    BaseFactor,
    Committee,
    dispersion,
    factor_augmented,
    factor_augmented_together,
    factor_base,
    factor_base_together,
)

Key = tuple[Experts, int]
Factor = BaseFactor | AugmentedFactor
AnyFactor = TypeVar("AnyFactor", BaseFactor, AugmentedFactor)
OneFactor = TypeVar("OneFactor", bound=Factor)


class Factoring:
    """Factors the experts of a committee.

    An augmented expert in float64 needs the communication factor in float64, which is computed once for all of them.

    Parameters
    ----------
    committee : Committee
    calibrated : bool
        Whether factors know their dispersion.
    """

    def __init__(self, committee: Committee, calibrated: bool) -> None:
        self._committee = committee
        self._calibrated = calibrated
        self._double: BaseFactor | None = None
        self._lock = Lock()

    def communication(self) -> BaseFactor:
        """Factor of the communication expert.

        Raises
        ------
        NotPositiveDefiniteError
            If its covariance cannot be factored.
        """
        return self._guarded(lambda: self._base(self._committee, 0), self.communication_in_double)

    def communication_in_double(self) -> BaseFactor:
        """The same in float64, for augmented experts in that precision."""
        with self._lock:
            if self._double is None:
                self._double = self._base(self._committee.as_type(torch.float64), 0)
            return self._double

    def factor(self, communication: BaseFactor, key: Key) -> Factor:
        """Factor of one expert.

        Parameters
        ----------
        communication : BaseFactor
            The communication expert's own.
        key : (Experts, int)
            Form and number of the expert.

        Returns
        -------
        BaseFactor or AugmentedFactor

        Raises
        ------
        NotPositiveDefiniteError
            If its covariance cannot be factored.
        """
        kind, expert = key
        if expert == 0:
            return communication
        if kind is Experts.BASE:
            double = self._committee.as_type(torch.float64)
            return self._guarded(lambda: self._base(self._committee, expert), lambda: self._base(double, expert))
        return self._guarded(
            lambda: self._augmented(communication, expert),
            lambda: self._augmented(self.communication_in_double(), expert),
        )

    def factor_together(self, communication: BaseFactor, keys: Sequence[Key]) -> list[Factor]:
        """Factors of experts of nearly equal size in one form, together; alone where that fails.

        Parameters
        ----------
        communication : BaseFactor
            The communication expert's own.
        keys : sequence of (Experts, int)

        Returns
        -------
        list of BaseFactor or AugmentedFactor

        Raises
        ------
        NotPositiveDefiniteError
            If an expert's covariance cannot be factored.
        """
        if len(keys) == 1:
            return [self.factor(communication, keys[0])]
        kind, experts = keys[0][0], [expert for _, expert in keys]
        found: Sequence[Factor | None]
        if kind is Experts.BASE:
            found = factor_base_together(self._committee, experts)
        else:
            found = factor_augmented_together(self._committee, communication, experts)
        return [
            self.factor(communication, key) if factor is None else self._measured(factor, key[1])
            for key, factor in zip(keys, found, strict=True)
        ]

    def is_double(self, factor: Factor) -> bool:
        """Whether a factor had to be in float64."""
        return factor.lower.dtype != self._committee.kernel.dtype

    def _base(self, committee: Committee, expert: int) -> BaseFactor:
        return self._measured(factor_base(committee, expert), expert)

    def _augmented(self, communication: BaseFactor, expert: int) -> AugmentedFactor:
        return self._measured(factor_augmented(self._committee, communication, expert), expert)

    def _measured(self, factor: OneFactor, expert: int) -> OneFactor:
        signal = self._committee.signal(expert)
        if not self._calibrated:
            return factor if signal == 1 else replace(factor, dispersion=signal)
        return replace(factor, dispersion=signal * dispersion(_in_units(factor, signal)))

    def _guarded(self, factor: Callable[[], AnyFactor], in_double: Callable[[], AnyFactor]) -> AnyFactor:
        try:
            return factor()
        except NotPositiveDefiniteError:
            if self._committee.kernel.dtype == torch.float64:
                raise
        return in_double()


def _in_units(factor: OneFactor, signal: float) -> OneFactor:
    """The factor of a covariance that is so many times its own."""
    if signal == 1:
        return factor
    root = math.sqrt(signal)
    return replace(factor, lower=root * factor.lower, weights=factor.weights / root)
