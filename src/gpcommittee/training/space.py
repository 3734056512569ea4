"""The search space: unconstrained kernel parameters, then the log noise variance, with bounds and names."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray

from gpcommittee.kernels import KernelFunction
from gpcommittee.records import FloatArray

NOISE_RANGE = (1e-8, 1e1)
"""Search range of the noise variance on a target of variance 1; its floor serves simulators, which are noise-free."""

FLOOR_IN_ROUNDINGS = 10.0
"""Noise below this many roundings of 1 cannot be told from none; it raises the floor in float32."""

AT_BOUND = 1e-4
"""Distance from a bound, in unconstrained units, within which a parameter counts as on it."""


@dataclass(frozen=True)
class SearchSpace:
    """Names and bounds of the parameter vector.

    Attributes
    ----------
    names : tuple of str, length p + 1
        Kernel parameters by their own names and indices, then ``noise_variance``.
    lower, upper : ndarray, shape (p + 1,)
        Bounds in unconstrained space, infinite where there is none.
    """

    names: tuple[str, ...]
    lower: FloatArray
    upper: FloatArray

    @classmethod
    def of(cls, kernel: KernelFunction) -> SearchSpace:
        """Search space of a kernel's trainable parameters and the noise variance.

        Parameters
        ----------
        kernel : KernelFunction

        Returns
        -------
        SearchSpace
        """
        sizes = [parameter.shape.numel() for parameter in kernel.parameters]
        lower = np.repeat([p.lower for p in kernel.parameters], sizes)
        upper = np.repeat([p.upper for p in kernel.parameters], sizes)
        names = [name for p in kernel.parameters for name in _element_names(p.name, tuple(p.shape))]
        rounding = torch.finfo(kernel.dtype).eps
        low_noise, high_noise = np.log([max(NOISE_RANGE[0], FLOOR_IN_ROUNDINGS * rounding), NOISE_RANGE[1]])
        return cls((*names, "noise_variance"), np.append(lower, low_noise), np.append(upper, high_noise))

    def at_bounds(self, theta: FloatArray) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the parameters on their lower and on their upper bound.

        Parameters
        ----------
        theta : ndarray, shape (p + 1,)
            Unconstrained kernel parameters, then the log noise variance.

        Returns
        -------
        at_lower, at_upper : tuple of str
        """
        low, high = theta <= self.lower + AT_BOUND, theta >= self.upper - AT_BOUND
        return _pick(self.names, low), _pick(self.names, high)


def _element_names(name: str, shape: tuple[int, ...]) -> list[str]:
    """One name per element: ``lengthscale[2]``; axes of length 1 carry no index."""
    plain = name.replace("raw_", "")
    indices = product(*(range(n) if n > 1 else [None] for n in shape))
    return [plain + "".join(f"[{i}]" for i in index if i is not None) for index in indices]


def _pick(names: tuple[str, ...], mask: NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(name for name, chosen in zip(names, mask, strict=True) if chosen)
