"""The fitted committee: data of all experts and the hyperparameters they share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from gpcommittee.kernels import FixedKernel, KernelFunction
from gpcommittee.records import Hyperparameters, IntArray, OwnVariances
from gpcommittee.scratch import Scratch


@dataclass(frozen=True)
class Committee:
    """Experts that share one kernel and one noise variance, or have variances of their own around them.

    Data are standardised.

    Attributes
    ----------
    kernel : KernelFunction
    hyperparameters : Hyperparameters
    X : Tensor, shape (n_rows, n_features)
        Standardised inputs, expert after expert; expert 0 is the communication expert.
    y : Tensor, shape (n_rows,)
        Standardised target in the same order.
    offsets : ndarray of int64, shape (n_experts + 1,)
        Expert ``i`` holds rows ``offsets[i]`` to ``offsets[i + 1]``.
    kept : ndarray of int64, or None
        Those of the rows that experts hold, by number, to which the offsets refer then. None: all.
    own : OwnVariances or None
        None: variances are shared.
    first_expert : int, default=1
        Number that expert 1 has in the whole committee, where this is the communication expert and some consecutive
        others of a larger one.
    """

    kernel: KernelFunction
    hyperparameters: Hyperparameters
    X: Tensor
    y: Tensor
    offsets: IntArray
    kept: IntArray | None = None
    own: OwnVariances | None = None
    first_expert: int = 1

    def on(self, device: torch.device) -> Committee:
        """The same committee on another device."""
        return replace(self, kernel=self.kernel.on(device), X=self.X.to(device), y=self.y.to(device))

    def as_type(self, dtype: torch.dtype) -> Committee:
        """The same committee in another precision; data are converted block by block, when they are used."""
        return self if dtype == self.kernel.dtype else self._in_double

    @cached_property
    def _in_double(self) -> Committee:
        """With the parameters that this precision holds: a model file stores these."""
        own = self.kernel.tensor(self.hyperparameters.kernel).double().cpu().numpy()
        return replace(
            self,
            kernel=self.kernel.as_type(torch.float64),
            hyperparameters=replace(self.hyperparameters, kernel=own),
        )

    @property
    def n_experts(self) -> int:
        """Number of experts, the communication expert included."""
        return len(self.offsets) - 1

    def number(self, expert: int) -> int:
        """Number of an expert in the whole committee."""
        return 0 if expert == 0 else expert + self.first_expert - 1

    @property
    def noise_variance(self) -> float:
        """Shared noise variance on a target of variance 1."""
        return self.hyperparameters.noise_variance

    def signal(self, expert: int) -> float:
        """An expert's own signal variance as a multiple of the shared one."""
        return 1.0 if self.own is None else float(self.own.signal[expert])

    def relative_noise(self, expert: int) -> float:
        """An expert's own noise variance as a multiple of the shared one, in units of its own signal variance."""
        return 1.0 if self.own is None else float(self.own.noise[expert] / self.own.signal[expert])

    def noise_of(self, expert: int) -> float:
        """The noise variance of an expert's rows beside a covariance at the shared signal variance."""
        return self.noise_variance * self.relative_noise(expert)

    def block(self, expert: int) -> tuple[Tensor, Tensor]:
        """Inputs (m, n_features) and target (m,) of one expert in the kernel's precision.

        Parameters
        ----------
        expert : int

        Returns
        -------
        X, y : Tensor
        """
        rows = slice(int(self.offsets[expert]), int(self.offsets[expert + 1]))
        own = rows if self.kept is None else torch.from_numpy(self.kept[rows])
        return self.X[own].to(self.kernel.dtype), self.y[own].to(self.kernel.dtype)

    def covariance(self, x1: Tensor, x2: Tensor, scratch: Scratch | None = None) -> Tensor:
        """Latent covariance at the shared hyperparameters.

        Parameters
        ----------
        x1, x2 : Tensor, shapes (n1, n_features) and (n2, n_features)
            Standardised inputs.
        scratch : Scratch, optional
            May hold the result.

        Returns
        -------
        Tensor, shape (n1, n2)
            To be overwritten as the caller likes.
        """
        return self._fixed_kernel.covariance(x1, x2, scratch)

    def noisy_covariance(self, x: Tensor, noise_variance: float | Tensor, scratch: Scratch | None = None) -> Tensor:
        """K + s2 I of one set of inputs, or of a batch.

        Parameters
        ----------
        x : Tensor, shape (n, n_features) or (b, n, n_features)
            Standardised inputs.
        noise_variance : float, or Tensor of shape (b, 1) or (n,)
            s2, one for all rows or one for each.
        scratch : Scratch, optional
            May hold the result.

        Returns
        -------
        Tensor, shape (n, n) or (b, n, n)
        """
        return self._fixed_kernel.noisy_covariance(x, noise_variance, scratch)

    def prior_variance(self, x: Tensor) -> Tensor:
        """Latent prior variance k(x, x).

        Parameters
        ----------
        x : Tensor, shape (n, n_features)
            Standardised inputs.

        Returns
        -------
        Tensor, shape (n,)
            At least the rounding error of the target's variance, so that precisions are finite where a kernel has no
            variance, as a linear one at the origin.
        """
        variance = self._fixed_kernel.variance(x)
        return variance.clamp_min(torch.finfo(variance.dtype).eps)

    @cached_property
    def _fixed_kernel(self) -> FixedKernel:
        return self.kernel.at(self.hyperparameters.kernel)
