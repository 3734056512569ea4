"""GPyTorch's stochastic variational GP, Adam on mini-batches."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.paper.systems.svi import SVI, FittedSVI
from benchmarks.peers.systems import Vector


def fit(
    X: Vector, y: Vector, seed: int, *, kernel: str, n_inducing: int, epochs: int, batch_size: int, learning_rate: float
) -> FittedSVGP:
    """Inducing inputs start at random rows and are learned."""
    iterations = epochs * -(-len(X) // batch_size)
    return FittedSVGP(SVI(n_inducing, batch_size, iterations, learning_rate, seed, kernel).fit(X, y))


@dataclass(frozen=True)
class FittedSVGP:
    model: FittedSVI

    def predict(self, X: Vector) -> tuple[Vector, Vector]:
        mean, std = self.model.predict(X)
        return mean, std**2

    def learned(self) -> dict[str, object]:
        return self.model.learned()
