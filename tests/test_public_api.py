"""The public surface: every name documented, one version, an import without side effects."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import gpcommittee

ROOT = Path(__file__).parents[1]
PUBLIC_ROOMS = ("", ".aggregation", ".baselines", ".datasets", ".metrics", ".partition", ".planning")
PUBLIC_MODULES = [f"gpcommittee{room}" for room in PUBLIC_ROOMS]
IMPORT_PROBE = """
import json, os, sys
import gpytorch, pyarrow, scipy.optimize, sklearn.base, sklearn.cluster, torch

def settings():
    return torch.get_num_threads(), torch.get_default_dtype(), dict(os.environ)

before, loaded = settings(), set(sys.modules)
import gpcommittee
added = set(sys.modules) - loaded
print(json.dumps({"optional": sorted(added & set(sys.argv[1:])), "settings_kept": settings() == before}))
"""


def documented_names() -> set[str]:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    return set(re.findall(r"^ +~?(gpcommittee\.[\w.]+)$", page, flags=re.MULTILINE))


@pytest.mark.parametrize("module", PUBLIC_MODULES)
def test_every_public_name_has_a_page(module: str) -> None:
    names = {f"{module}.{name}" for name in importlib.import_module(module).__all__ if name != "__version__"}
    missing = sorted(names - documented_names())
    assert not missing, f"Add to docs/api.md: {missing}"


def test_one_version_everywhere() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert pyproject["project"]["version"] == gpcommittee.__version__
    assert f"\nversion: {gpcommittee.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_import_loads_no_optional_dependency_and_changes_no_setting() -> None:
    command = [sys.executable, "-c", IMPORT_PROBE, "dask", "matplotlib", "pandas", "polars"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    run = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    found = json.loads(run.stdout)
    assert found == {"optional": [], "settings_kept": True}
