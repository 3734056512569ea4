"""Gaussian-process regression on large data by a committee of experts."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from gpcommittee.errors import GPCommitteeError, GPCommitteeWarning

if TYPE_CHECKING:
    from gpcommittee.estimator import CommitteeRegressor
    from gpcommittee.presets import paper_committee

__version__ = "0.1.0"

__all__ = ["CommitteeRegressor", "GPCommitteeError", "GPCommitteeWarning", "__version__", "paper_committee"]

_LAZY = {"CommitteeRegressor": "gpcommittee.estimator", "paper_committee": "gpcommittee.presets"}
"""Where names are that take PyTorch along: loaded at first use, so that the command line answers at once."""


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'gpcommittee' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
