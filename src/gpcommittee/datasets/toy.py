"""The one-dimensional toy example of the paper (section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpcommittee.errors import InvalidParameterError
from gpcommittee.records import FloatArray

NOISE_VARIANCE = 0.25


@dataclass(frozen=True)
class Toy:
    """A noisy sample of the toy function.

    Attributes
    ----------
    X : ndarray, shape (n_rows, 1)
    y : ndarray, shape (n_rows,)
        Noisy targets.
    f : ndarray, shape (n_rows,)
        The function itself, without noise.
    """

    X: FloatArray
    y: FloatArray
    f: FloatArray


def toy_function(x: FloatArray) -> FloatArray:
    """The toy function without noise: 5 x^2 sin(12 x) + (x^3 - 0.5) sin(3 x - 0.5) + 4 cos(2 x).

    Parameters
    ----------
    x : ndarray, any shape

    Returns
    -------
    ndarray, same shape

    References
    ----------
    Liu, Cai, Wang and Ong (2018), section 4.1.

    Examples
    --------
    >>> toy_function(np.array([0.0])).round(6)
    array([4.239713])
    """
    result: FloatArray = 5.0 * x**2 * np.sin(12.0 * x) + (x**3 - 0.5) * np.sin(3.0 * x - 0.5) + 4.0 * np.cos(2.0 * x)
    return result


def make_toy(n: int, seed: int = 0, x_range: tuple[float, float] = (0.0, 1.0)) -> Toy:
    """Sample the toy function at uniformly random inputs, with Gaussian noise of variance 0.25.

    Parameters
    ----------
    n : int
        Number of rows.
    seed : int, default=0
    x_range : tuple of float, default=(0, 1)
        Range of the inputs; the paper trains on (0, 1) and tests on (-0.2, 1.2).

    Returns
    -------
    Toy

    Raises
    ------
    InvalidParameterError
        `n` below 1, or a range that does not rise.

    References
    ----------
    Liu, Cai, Wang and Ong (2018), section 4.1.

    Examples
    --------
    >>> toy = make_toy(5)
    >>> toy.X.shape, toy.y.shape
    ((5, 1), (5,))
    """
    low, high = x_range
    if n < 1:
        raise InvalidParameterError(f"n must be at least 1, got {n}.")
    if not (np.isfinite([low, high]).all() and low < high):
        raise InvalidParameterError(f"x_range must be two finite numbers that rise, got {x_range}.")
    generator = np.random.default_rng(seed)
    x = generator.uniform(low, high, n)
    f = toy_function(x)
    return Toy(X=x[:, None], y=f + np.sqrt(NOISE_VARIANCE) * generator.standard_normal(n), f=f)
