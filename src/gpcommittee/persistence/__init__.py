"""Model files: one safetensors file with a JSON manifest, written whole, checked when read, never unpickled."""

from __future__ import annotations

from gpcommittee.persistence.container import SCHEMA_VERSION, check_writable, read_model_file, write_model_file
from gpcommittee.persistence.custom_kernel import custom_kernel_spec, matches_custom_spec, restore_custom_kernel
from gpcommittee.persistence.kernel_spec import kernel_from_spec, kernel_to_spec, prior_names
from gpcommittee.persistence.model import StoredModel, read_metadata, read_model, write_model

__all__ = [
    "SCHEMA_VERSION",
    "StoredModel",
    "check_writable",
    "custom_kernel_spec",
    "kernel_from_spec",
    "kernel_to_spec",
    "matches_custom_spec",
    "prior_names",
    "read_metadata",
    "read_model",
    "read_model_file",
    "restore_custom_kernel",
    "write_model",
    "write_model_file",
]
