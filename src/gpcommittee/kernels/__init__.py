"""Kernels by name, and any GPyTorch kernel as a pure function; they act on standardised inputs."""

from gpcommittee.kernels.fixed import FixedKernel
from gpcommittee.kernels.function import KernelFunction, Parameter
from gpcommittee.kernels.metric import input_scales
from gpcommittee.kernels.named import KERNELS, make_kernel

__all__ = ["KERNELS", "FixedKernel", "KernelFunction", "Parameter", "input_scales", "make_kernel"]
