"""Dense, eager evaluation of a GPyTorch kernel."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from typing import Any

import gpytorch
import torch
from gpytorch.kernels import AdditiveKernel, Kernel, ProductKernel, ScaleKernel
from torch import Tensor


def dense(kernel: Kernel, x1: Tensor, x2: Tensor, diag: bool = False) -> Tensor:
    """Covariance matrix, shape (..., n1, n2), or its diagonal, shape (..., n), as a plain tensor.

    Scales, sums and products are evaluated term by term on dense matrices: GPyTorch's lazy sum with a low-rank term
    (a linear kernel, say) would decompose the other terms at every evaluation. Of a batch of inputs, GPyTorch's own
    kernels take all at once; a kernel from elsewhere may not know batches and takes them one by one.
    """
    with _eager_kernels():
        if x1.ndim == 2 and x2.ndim == 2:
            return _dense(kernel, x1, x2, diag)
        leading = torch.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
        x1, x2 = (x.expand(*leading, *x.shape[-2:]) for x in (x1, x2))
        if _knows_batches(kernel):
            return _dense(kernel, x1, x2, diag)
        pairs = zip(x1.flatten(0, -3), x2.flatten(0, -3), strict=True)
        one_by_one = torch.stack([_dense(kernel, a, b, diag) for a, b in pairs])
        return one_by_one.reshape(*leading, *one_by_one.shape[1:])


def _knows_batches(kernel: Kernel) -> bool:
    """Whether it is GPyTorch's own in all its parts."""
    return all(type(part).__module__.startswith("gpytorch.") for part in kernel.modules() if isinstance(part, Kernel))


def _dense(kernel: Kernel, x1: Tensor, x2: Tensor, diag: bool) -> Tensor:
    if type(kernel) is ScaleKernel and not kernel.batch_shape and _selects_like_its_base(kernel):
        scaled: Tensor = kernel.outputscale * _dense(kernel.base_kernel, x1, x2, diag)
        return scaled
    if type(kernel) is AdditiveKernel and kernel.active_dims is None:
        return reduce(torch.add, [_dense(term, x1, x2, diag) for term in kernel.kernels])
    if type(kernel) is ProductKernel and kernel.active_dims is None:
        return reduce(torch.mul, [_dense(term, x1, x2, diag) for term in kernel.kernels])
    result = kernel(x1, x2, diag=diag)
    return result if isinstance(result, Tensor) else result.to_dense()


def _selects_like_its_base(kernel: ScaleKernel) -> bool:
    """Whether evaluating the base selects the scale's input columns; GPyTorch copies the base's to the scale."""
    own: Tensor | None = kernel.active_dims  # type: ignore[assignment]
    base: Tensor | None = kernel.base_kernel.active_dims  # type: ignore[assignment]
    return own is None or (base is not None and torch.equal(own, base))


_eager_lock = threading.Lock()
_eager_depth = 0
_eager_setting: Any = None


@contextmanager
def _eager_kernels() -> Iterator[None]:
    """Evaluate kernels eagerly. GPyTorch's setting is global, so overlapping threads share one entry and one exit."""
    global _eager_depth, _eager_setting
    with _eager_lock:
        if _eager_depth == 0:
            _eager_setting = gpytorch.settings.lazily_evaluate_kernels(False)
            _eager_setting.__enter__()
        _eager_depth += 1
    try:
        yield
    finally:
        with _eager_lock:
            _eager_depth -= 1
            if _eager_depth == 0:
                _eager_setting.__exit__(None, None, None)
