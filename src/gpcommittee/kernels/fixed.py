"""A kernel at fixed parameters, for prediction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpytorch.kernels import Kernel
from torch import Tensor

from gpcommittee.kernels.evaluate import dense
from gpcommittee.kernels.stationary import Natural, Stationary
from gpcommittee.scratch import Scratch


@dataclass(frozen=True)
class FixedKernel:
    """Covariances without gradients.

    Attributes
    ----------
    evaluate : callable
        Calls a function with the GPyTorch kernel that holds the parameters.
    stationary : tuple of Stationary and Natural, or None
        The closed form and its parameters, where the kernel has one.
    """

    evaluate: Callable[[Callable[[Kernel], Tensor]], Tensor]
    stationary: tuple[Stationary, Natural] | None

    def covariance(self, x1: Tensor, x2: Tensor, scratch: Scratch | None = None) -> Tensor:
        """Dense covariance of two sets of inputs.

        Parameters
        ----------
        x1, x2 : Tensor, shapes (..., n1, d) and (..., n2, d)
            Distances are taken from the mean of ``x2``, so that far rows of ``x1`` cost the others no accuracy.
        scratch : Scratch, optional
            May hold the result.

        Returns
        -------
        Tensor, shape (..., n1, n2)
            To be overwritten as the caller likes.
        """
        if self.stationary is None:
            return self.evaluate(lambda kernel: dense(kernel, x2, x1)).mT.contiguous()
        form, natural = self.stationary
        return form.covariance(natural, x1, x2, scratch or Scratch())

    def noisy_covariance(self, x: Tensor, noise_variance: float | Tensor, scratch: Scratch | None = None) -> Tensor:
        """K + s2 I of one set of inputs.

        The diagonal is the exact prior variance: kernels of a distance compute that of a row to itself with rounding
        errors of up to 1e-7 (Matern-1/2 where a gradient is wanted), larger than the smallest noise.

        Parameters
        ----------
        x : Tensor, shape (..., n, d)
        noise_variance : float, or Tensor of shape (..., 1) or (..., n)
            s2, one for all rows or one for each.
        scratch : Scratch, optional
            May hold the result.

        Returns
        -------
        Tensor, shape (..., n, n)
        """
        covariance = self.covariance(x, x, scratch)
        covariance.diagonal(dim1=-2, dim2=-1).copy_(self.variance(x) + noise_variance)
        return covariance

    def variance(self, x: Tensor) -> Tensor:
        """Prior variance k(x, x) of each row.

        Parameters
        ----------
        x : Tensor, shape (..., n, d)

        Returns
        -------
        Tensor, shape (..., n)
        """
        if self.stationary is None:
            return self.evaluate(lambda kernel: dense(kernel, x, x, diag=True))
        return self.stationary[1].variance.expand(x.shape[:-1])
