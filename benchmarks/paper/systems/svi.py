"""GP regression by stochastic variational inference (Hensman et al., 2013), GPyTorch's SVGP."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import gpytorch
import numpy as np
import torch
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import GaussianLikelihood
from numpy.typing import ArrayLike
from torch import Tensor

from benchmarks.paper.systems.fitted import FittedBaselineSystem
from gpcommittee.data import restore_mean, restore_variance, standardisation, standardise_inputs, standardise_target
from gpcommittee.kernels import KernelFunction, make_kernel
from gpcommittee.records import FloatArray, Standardisation

CHUNK = 10_000

LEARNING_RATE = 0.03
"""Of 0.01, 0.03 and 0.1, the one with the highest bound on kin40k's training rows after 1,200 iterations."""


class SVGP(gpytorch.models.ApproximateGP):
    """Zero mean, inducing inputs learned."""

    def __init__(self, inducing: Tensor, kernel: Kernel) -> None:
        # No random start of the mean: it would come from PyTorch's global generator.
        distribution = gpytorch.variational.CholeskyVariationalDistribution(len(inducing), mean_init_std=0.0)
        super().__init__(gpytorch.variational.VariationalStrategy(self, inducing, distribution))  # type: ignore[no-untyped-call]
        self.kernel = kernel

    def forward(self, x: Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(x.new_zeros(x.shape[:-1]), self.kernel(x))


@dataclass(frozen=True)
class SVI:
    """A baseline: inducing inputs start at random rows, Adam on mini-batches drawn without replacement."""

    n_inducing: int
    batch_size: int
    iterations: int
    learning_rate: float = LEARNING_RATE
    seed: int = 0
    kernel: str = "squared_exponential"

    def fit(self, X: ArrayLike, y: ArrayLike) -> FittedSVI:
        inputs, target = np.asarray(X), np.asarray(y)
        scaling = standardisation(inputs, target)
        x = torch.from_numpy(standardise_inputs(inputs, scaling))
        generator = torch.Generator().manual_seed(self.seed)
        start = x[torch.randperm(len(x), generator=generator)[: self.n_inducing]].clone()
        model = SVGP(start, make_kernel(self.kernel, x.shape[1])).double()
        likelihood = GaussianLikelihood().double().initialize(noise=0.1)
        path = self._optimise(model, likelihood, x, torch.from_numpy(standardise_target(target, scaling)), generator)
        return FittedSVI(model, likelihood, scaling, path)

    def _optimise(
        self, model: SVGP, likelihood: GaussianLikelihood, x: Tensor, y: Tensor, generator: torch.Generator
    ) -> list[float]:
        bound = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(y))
        adam = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=self.learning_rate)
        path = []
        for rows in self._batches(len(y), generator):
            adam.zero_grad()
            value = bound(model(x[rows]), y[rows])
            assert isinstance(value, Tensor)
            (-value).backward()
            adam.step()
            path.append(float(value.detach()))
        return path

    def _batches(self, n: int, generator: torch.Generator) -> Iterator[Tensor]:
        """As many batches as iterations, epoch after epoch."""
        done = 0
        while done < self.iterations:
            for rows in torch.randperm(n, generator=generator).split(self.batch_size)[: self.iterations - done]:
                yield rows
                done += 1


@dataclass(frozen=True)
class FittedSVI:
    model: SVGP
    likelihood: GaussianLikelihood
    scaling: Standardisation
    path: list[float]

    def predict(self, X: ArrayLike) -> tuple[FloatArray, FloatArray]:
        x = torch.from_numpy(standardise_inputs(np.asarray(X), self.scaling))
        self.model.eval()
        with torch.no_grad():
            parts = [self.model(chunk) for chunk in x.split(CHUNK)]
            mean = torch.cat([part.mean for part in parts])
            variance = torch.cat([part.variance for part in parts]) + self.likelihood.noise
        return restore_mean(mean.numpy(), self.scaling), np.sqrt(restore_variance(variance.numpy(), self.scaling))

    def learned(self) -> dict[str, object]:
        kernel = KernelFunction(self.model.kernel)
        values = {name: np.asarray(value).tolist() for name, value in kernel.natural_values(kernel.start).items()}
        return {
            "bound_per_row": float(np.mean(self.path[-10:])),
            "hyperparameters": {**values, "noise_variance": self.likelihood.noise.item()},
        }


@dataclass(frozen=True)
class SVISystem:
    n_inducing: int
    batch_size: int
    iterations: int
    learning_rate: float = LEARNING_RATE

    def fit(self, X: FloatArray, y: FloatArray, seed: int, n_jobs: int) -> FittedBaselineSystem:
        baseline = SVI(self.n_inducing, self.batch_size, self.iterations, self.learning_rate, seed)
        fitted = baseline.fit(X, y)
        return FittedBaselineSystem("svi", fitted, fitted.learned())

    def shrunk(self) -> SVISystem:
        return replace(self, n_inducing=20, batch_size=50, iterations=5)
