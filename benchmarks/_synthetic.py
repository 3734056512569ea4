"""Families of made data, each hard for a shared stationary kernel in its own way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpcommittee.datasets import RegressionData, make_toy
from gpcommittee.records import FloatArray

Draw = Callable[[int, np.random.Generator], tuple[FloatArray, FloatArray]]


def synthetic(name: str, n_rows: int, test_rows: int, seed: int) -> RegressionData:
    """Rows of a family of ``FAMILIES`` to train on and others to test on, drawn anew from a seed."""
    X, y = FAMILIES[name](n_rows + test_rows, np.random.default_rng(seed))
    names = tuple(f"x{i}" for i in range(1, X.shape[1] + 1))
    return RegressionData(name, X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:], names, "Drawn here.")


def with_noise(noise: Callable[[FloatArray], FloatArray]) -> Draw:
    """A smooth function of two inputs, and noise whose standard deviation depends on the first."""

    def draw(n_rows: int, generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        X = generator.uniform(size=(n_rows, 2))
        function = np.sin(8 * X[:, 0]) + np.cos(6 * X[:, 0] * X[:, 1])
        return X, function + noise(X[:, 0]) * generator.standard_normal(n_rows)

    return draw


def _toy(n_rows: int, generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    toy = make_toy(n_rows, seed=int(generator.integers(2**31)))
    return toy.X, toy.y


def _rough_and_smooth(n_rows: int, generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Two inputs; waves ten times as short on the right as on the left, little noise."""
    X = generator.uniform(size=(n_rows, 2))
    function = np.sin(4 * X[:, 0] + 40 * X[:, 0] ** 4) * np.cos(3 * X[:, 1]) + X[:, 1]
    return X, function + 0.02 * generator.standard_normal(n_rows)


def _clustered(n_rows: int, generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Six inputs in forty clusters of unequal sizes with nothing between them."""
    shares = generator.dirichlet(np.ones(40))
    centre = generator.uniform(size=(40, 6))[generator.choice(40, n_rows, p=shares)]
    X = centre + 0.03 * generator.standard_normal((n_rows, 6))
    return X, _waves(X / 0.3, 200, generator) + 0.05 * generator.standard_normal(n_rows)


def _twenty(n_rows: int, generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Friedman's function of five inputs, and fifteen inputs that do not matter."""
    X = generator.uniform(size=(n_rows, 20))
    function = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, function + generator.standard_normal(n_rows)


def _ninety(n_rows: int, generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Ninety inputs that are mixtures of eight hidden ones, on which the target depends."""
    hidden = generator.standard_normal((n_rows, 8))
    X = hidden @ generator.standard_normal((8, 90)) + 0.3 * generator.standard_normal((n_rows, 90))
    return X, _waves(hidden / 3.0, 200, generator) + 0.1 * generator.standard_normal(n_rows)


def _waves(X: FloatArray, n_waves: int, generator: np.random.Generator) -> FloatArray:
    """Nearly a draw from a process with the squared exponential kernel, lengthscale and variance 1."""
    phases = X @ generator.standard_normal((X.shape[1], n_waves)) + generator.uniform(0, 2 * np.pi, n_waves)
    drawn: FloatArray = np.sqrt(2.0 / n_waves) * np.cos(phases) @ generator.standard_normal(n_waves)
    return drawn


FAMILIES: dict[str, Draw] = {
    "toy": _toy,
    "rough and smooth": _rough_and_smooth,
    "growing noise": with_noise(lambda x: 0.05 * 16.0**x),
    "equal noise": with_noise(lambda x: np.full_like(x, 0.2)),
    "clusters": _clustered,
    "20 inputs": _twenty,
    "90 inputs": _ninety,
}
