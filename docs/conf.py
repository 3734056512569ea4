"""Sphinx configuration; a warning fails the build (see `make docs`)."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

_pyproject = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))

project = "gpcommittee"
author = "The gpcommittee developers"
copyright = f"2026, {author}"
release = version = _pyproject["project"]["version"]

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinxcontrib.bibtex",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]

html_theme = "furo"
html_title = f"gpcommittee {release}"

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

bibtex_bibfiles = ["refs.bib"]
bibtex_default_style = "plain"
bibtex_reference_style = "author_year"

autodoc_member_order = "bysource"
autodoc_typehints = "none"
# Metadata routing, which scikit-learn attaches to every estimator.
autodoc_default_options = {
    "exclude-members": "get_metadata_routing, set_fit_request, set_predict_request, set_score_request"
}
numpydoc_show_class_members = False

# Examples in docstrings are run by pytest; here only {doctest} and {testcode} blocks of the pages are.
doctest_test_doctest_blocks = ""
doctest_global_setup = """
import numpy as np
import torch

torch.set_num_threads(1)
"""


def _kept_apart(app: Any, module: str, name: str) -> str | None:
    """Leave out of the source of `gpcommittee.errors` the two classes that are documented under a shorter name.

    viewcode links back from a source file by one module name, so with both the links to all the others would be dead.
    """
    return module if name in {"GPCommitteeError", "GPCommitteeWarning"} else None


def setup(app: Any) -> None:
    app.connect("viewcode-follow-imported", _kept_apart)
