"""What every test shares: one thread, fixed examples, and the way to data that is not shipped."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest
import torch

os.environ["MPLBACKEND"] = "agg"
torch.set_num_threads(1)

# No deadline: the suite shares its cores. Derandomised: a failure on one machine fails on every machine.
hypothesis.settings.register_profile("gpcommittee", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("gpcommittee")


def _folder(variable: str) -> Path:
    path = Path(os.environ[variable])
    if not path.is_dir():
        pytest.fail(f"{variable} must name a folder, got {path}; correct it, or unset it to skip what needs it.")
    return path


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the data sets that are not shipped."""
    if "GPCOMMITTEE_DATA" not in os.environ:
        pytest.skip("GPCOMMITTEE_DATA is unset: it names the folder of the data sets that are not shipped")
    return _folder("GPCOMMITTEE_DATA")


@pytest.fixture(scope="session")
def reference_dir() -> Path:
    """Folder of the reference numbers: GPCOMMITTEE_REFERENCE, or `reference` beside GPCOMMITTEE_DATA."""
    if "GPCOMMITTEE_REFERENCE" in os.environ:
        return _folder("GPCOMMITTEE_REFERENCE")
    if "GPCOMMITTEE_DATA" not in os.environ:
        pytest.skip("GPCOMMITTEE_REFERENCE and GPCOMMITTEE_DATA are unset: the first names the reference numbers")
    beside = _folder("GPCOMMITTEE_DATA").resolve().parent / "reference"
    if not beside.is_dir():
        pytest.skip(f"GPCOMMITTEE_REFERENCE is unset and there is no folder {beside}")
    return beside


@pytest.fixture(params=["cpu", "cuda"])
def device(request: pytest.FixtureRequest) -> torch.device:
    """Every device on which experts can be computed in batches."""
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    return torch.device(request.param)
