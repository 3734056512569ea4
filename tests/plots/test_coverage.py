from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from gpcommittee.errors import MissingDependencyError
from gpcommittee.metrics import LEVELS
from gpcommittee.plots import draw_coverage


def test_every_curve_is_drawn_beside_what_was_promised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures: list[Figure] = []
    save = Figure.savefig

    def noted(figure: Figure, *to: Any, **how: Any) -> None:
        figures.append(figure)
        save(figure, *to, **how)

    monkeypatch.setattr(Figure, "savefig", noted)
    curves = {"grbcm": np.array(LEVELS), "rbcm": np.square(LEVELS)}
    draw_coverage(tmp_path / "coverage.png", LEVELS, curves)
    promised, *drawn = figures[0].axes[0].lines
    np.testing.assert_array_equal(promised.get_data(), [[0, 1], [0, 1]])
    assert [line.get_label() for line in drawn] == list(curves)
    for line, covered in zip(drawn, curves.values(), strict=True):
        np.testing.assert_array_equal(line.get_data(), [LEVELS, covered])
    assert imread(tmp_path / "coverage.png").shape[:2] == (840, 980)


def test_missing_matplotlib_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpcommittee.plots.backend.find_spec", lambda _: None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'gpcommittee\[plots\]'"):
        draw_coverage(tmp_path / "coverage.png", LEVELS, {})
    assert not list(tmp_path.iterdir())
