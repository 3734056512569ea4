"""Any GPyTorch kernel as a pure function of one unconstrained parameter vector."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from gpcommittee.kernels.bounds import search_bounds
from gpcommittee.kernels.evaluate import dense
from gpcommittee.kernels.fixed import FixedKernel
from gpcommittee.kernels.identity import identity
from gpcommittee.kernels.stationary import Stationary, recognise
from gpcommittee.records import FloatArray
from gpcommittee.scratch import Scratch


@dataclass(frozen=True)
class Parameter:
    """One trainable kernel parameter.

    Attributes
    ----------
    name : str
        As the kernel names it, in unconstrained space (``base_kernel.raw_lengthscale``).
    shape : torch.Size
    lower, upper : ndarray, shape (shape.numel(),)
        Search bounds in unconstrained space, infinite where there is none.
    """

    name: str
    shape: torch.Size
    lower: FloatArray
    upper: FloatArray


class KernelFunction:
    """A GPyTorch kernel as a pure function of its unconstrained parameters.

    Parameters
    ----------
    kernel : gpytorch.kernels.Kernel
        Copied, never changed. Parameters with ``requires_grad=False`` keep their values.
    dtype : torch.dtype
    device : torch.device

    Attributes
    ----------
    parameters : tuple of Parameter
        In the order of the parameter vector.
    start : ndarray, shape (n_parameters,)
        The kernel's present unconstrained values.
    """

    def __init__(self, kernel: Kernel, dtype: torch.dtype = torch.float64, device: torch.device | str = "cpu") -> None:
        self._module = deepcopy(kernel).to(dtype=dtype, device=device).eval()
        trainable = [(n, p, c) for n, p, c in self._module.named_parameters_and_constraints() if p.requires_grad]
        self.parameters = tuple(Parameter(n, p.shape, *search_bounds(c, p.shape)) for n, p, c in trainable)
        values = [p.detach().double().cpu().numpy().ravel() for _, p, _ in trainable]
        self.start: FloatArray = np.concatenate([np.empty(0), *values])
        self.dtype = dtype
        self.device = torch.device(device)
        self._stationary = recognise(self._module)
        self._local = threading.local()

    def on(self, device: torch.device | str) -> KernelFunction:
        """The same function on another device."""
        return KernelFunction(self._module, self.dtype, device)

    def as_type(self, dtype: torch.dtype) -> KernelFunction:
        """The same function in another precision."""
        return KernelFunction(self._module, dtype, self.device)

    @property
    def identity(self) -> str:
        """All that decides the kernel's values, as text."""
        return identity(self._module)

    def at(self, theta: FloatArray) -> FixedKernel:
        """The kernel at fixed parameters, for prediction.

        Parameters
        ----------
        theta : ndarray, shape (n_parameters,)
            Unconstrained parameters.

        Returns
        -------
        FixedKernel
        """
        point = self.tensor(theta)
        form = self._stationary
        with torch.no_grad():
            natural = None if form is None else form.natural(self._unpack(point))
        return FixedKernel(
            partial(self._without_gradient, point), None if form is None or natural is None else (form, natural)
        )

    def covariance(self, theta: Tensor, x1: Tensor, x2: Tensor) -> Tensor:
        """Dense covariance of two sets of inputs as GPyTorch evaluates it, differentiable.

        Parameters
        ----------
        theta : Tensor, shape (n_parameters,)
            Unconstrained parameters.
        x1, x2 : Tensor, shapes (..., n1, d) and (..., n2, d)

        Returns
        -------
        Tensor, shape (..., n1, n2)
        """
        return self._call(theta, lambda module: dense(module, x1, x2))

    def variance(self, theta: Tensor, x: Tensor) -> Tensor:
        """Prior variance k(x, x) of each row as GPyTorch evaluates it, differentiable.

        Parameters
        ----------
        theta : Tensor, shape (n_parameters,)
            Unconstrained parameters.
        x : Tensor, shape (..., n, d)

        Returns
        -------
        Tensor, shape (..., n)
        """
        return self._call(theta, lambda module: dense(module, x, x, diag=True))

    def noisy_covariance_with_pullback(
        self, theta: Tensor, x: Tensor, scratch: Scratch
    ) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        """K + s2 I of one set of inputs, and what takes a derivative by it to one by the parameters.

        Parameters
        ----------
        theta : Tensor, shape (n_parameters + 1,)
            Unconstrained parameters, then log s2.
        x : Tensor, shape (..., n, d)
        scratch : Scratch
            May hold the result.

        Returns
        -------
        covariance : Tensor, shape (..., n, n)
        pullback : callable
            To be called once: from a symmetric derivative by the covariance, (..., n, n), to that by ``theta``,
            (n_parameters + 1,), summed over leading dimensions.
        """
        point = theta.detach().requires_grad_()
        if self._stationary is None:
            return self._noisy_by_graph(point, x)
        return self._noisy_in_closed_form(self._stationary, point, x, scratch)

    def _noisy_by_graph(self, point: Tensor, x: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        with torch.enable_grad():
            covariance = self.covariance(point[:-1], x, x)
            diagonal = self.variance(point[:-1], x) + point[-1].exp()
            noisy = torch.diagonal_scatter(covariance, diagonal, dim1=-2, dim2=-1)
        return noisy.detach(), lambda derivative: _by_learned([noisy], [derivative], point)

    def _noisy_in_closed_form(
        self, stationary: Stationary, point: Tensor, x: Tensor, scratch: Scratch
    ) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        """The matrices in closed form; a graph for the constraints' transforms alone."""
        with torch.enable_grad():
            natural = stationary.natural(self._unpack(point[:-1]))
            noise_variance = point[-1].exp()
        with torch.no_grad():
            covariance, natural_pullback = stationary.with_pullback(natural.detach(), x, scratch)
            covariance.diagonal(dim1=-2, dim2=-1).add_(noise_variance)

        def pullback(derivative: Tensor) -> Tensor:
            by_noise = derivative.diagonal(dim1=-2, dim2=-1).sum()
            values = [*natural.tensors(), noise_variance]
            return _by_learned(values, [*natural_pullback(derivative).tensors(), by_noise], point)

        return covariance, pullback

    def covariance_with_pullback(
        self, theta: Tensor, x1: Tensor, x2: Tensor, scratch: Scratch
    ) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        """Covariance of two sets of inputs, and what takes a derivative by it to one by the parameters.

        Parameters
        ----------
        theta : Tensor, shape (n_parameters,)
            Unconstrained parameters.
        x1, x2 : Tensor, shapes (..., n1, d) and (..., n2, d)
            Distances are taken from the mean of ``x2``.
        scratch : Scratch
            May hold the result.

        Returns
        -------
        covariance : Tensor, shape (..., n1, n2)
            To be overwritten as the caller likes.
        pullback : callable
            To be called once: from a derivative by the covariance, (..., n1, n2), to that by ``theta``,
            (n_parameters,), summed over leading dimensions.
        """
        point = theta.detach().requires_grad_()
        if self._stationary is None:
            return self._cross_by_graph(point, x1, x2)
        with torch.enable_grad():
            natural = self._stationary.natural(self._unpack(point))
        with torch.no_grad():
            covariance, natural_pullback = self._stationary.cross_with_pullback(natural.detach(), x1, x2, scratch)
        return covariance, lambda derivative: _by_learned(
            natural.tensors(), natural_pullback(derivative).tensors(), point
        )

    def _cross_by_graph(self, point: Tensor, x1: Tensor, x2: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        with torch.enable_grad():
            transposed = self.covariance(point, x2, x1)
        return transposed.detach().mT.clone(memory_format=torch.contiguous_format), lambda derivative: _by_learned(
            [transposed], [derivative.mT], point
        )

    def log_prior(self, theta: Tensor) -> Tensor:
        """Sum of the log densities of the kernel's registered priors, in nats.

        Parameters
        ----------
        theta : Tensor, shape (n_parameters,)
            Unconstrained parameters; the densities are those of the natural values, without a Jacobian.

        Returns
        -------
        Tensor of one value
            0 where the kernel has no priors.
        """
        return self._call(theta, _sum_log_priors)

    def tensor(self, theta: FloatArray) -> Tensor:
        """An array as a tensor of this kernel's dtype on its device.

        Parameters
        ----------
        theta : ndarray, any shape

        Returns
        -------
        Tensor, same shape
        """
        return torch.as_tensor(theta, dtype=self.dtype, device=self.device)

    def with_parameters(self, theta: FloatArray) -> Kernel:
        """A copy of the kernel that holds the given parameters.

        Parameters
        ----------
        theta : ndarray, shape (n_parameters,)
            Unconstrained parameters.

        Returns
        -------
        gpytorch.kernels.Kernel
        """
        kernel = deepcopy(self._module)
        named = dict(kernel.named_parameters())
        with torch.no_grad():
            for name, value in self._unpack(self.tensor(theta)).items():
                named[name].copy_(value)
        return kernel

    def natural_values(self, theta: FloatArray) -> dict[str, FloatArray]:
        """Trainable parameters in their natural (constrained) units.

        Parameters
        ----------
        theta : ndarray, shape (n_parameters,)
            Unconstrained parameters.

        Returns
        -------
        dict of str to ndarray
            By name without the ``raw_`` prefix.
        """
        kernel = self.with_parameters(theta)
        constrained = {n: (p if c is None else c.transform(p)) for n, p, c in kernel.named_parameters_and_constraints()}
        return {
            parameter.name.replace("raw_", ""): constrained[parameter.name].detach().double().cpu().numpy()
            for parameter in self.parameters
        }

    def _unpack(self, theta: Tensor) -> dict[str, Tensor]:
        pieces = theta.split([parameter.shape.numel() for parameter in self.parameters])
        return {p.name: piece.reshape(p.shape) for p, piece in zip(self.parameters, pieces, strict=True)}

    def _without_gradient(self, theta: Tensor, evaluate: Callable[[Kernel], Tensor]) -> Tensor:
        with torch.no_grad():
            return self._call(theta, evaluate)

    def _call(self, theta: Tensor, evaluate: Callable[[Kernel], Tensor]) -> Tensor:
        caller = _Caller(self._thread_module(), evaluate)
        parameters = {f"module.{name}": value for name, value in self._unpack(theta).items()}
        result: Tensor = torch.func.functional_call(caller, parameters, ())
        return result

    def _thread_module(self) -> Kernel:
        """This thread's own copy: a functional call swaps the module's parameters while it runs."""
        if not hasattr(self._local, "module"):
            self._local.module = deepcopy(self._module)
        module: Kernel = self._local.module
        return module

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_local"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._local = threading.local()


class _Caller(torch.nn.Module):
    """Evaluates something of a kernel under ``torch.func.functional_call``."""

    def __init__(self, module: Kernel, evaluate: Callable[[Kernel], Tensor]) -> None:
        super().__init__()
        self.module = module
        self.evaluate = evaluate

    def forward(self) -> Tensor:
        return self.evaluate(self.module)


def _by_learned(values: Sequence[Tensor], derivatives: Sequence[Tensor], point: Tensor) -> Tensor:
    """Derivative by the parameters, given those by values, some of which may not be learned; 0 where none is."""
    learned = [pair for pair in zip(values, derivatives, strict=True) if pair[0].requires_grad]
    if not learned:
        return torch.zeros_like(point)
    return torch.autograd.grad([value for value, _ in learned], point, [by for _, by in learned])[0]


def _sum_log_priors(kernel: Kernel) -> Tensor:
    terms = [prior.log_prob(closure(module)).sum() for _, module, prior, closure, _ in kernel.named_priors()]
    return torch.stack(terms).sum() if terms else torch.zeros(())
