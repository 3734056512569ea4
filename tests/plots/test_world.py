from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from gpcommittee.datasets import load_geoid_grid
from gpcommittee.errors import MissingDependencyError
from gpcommittee.plots import WorldMaps, draw_world, observed_coverage, require_matplotlib
from gpcommittee.plots.world import coverage_verdict

SHARES = np.array([0.1, 0.5, 0.95])


def make_maps() -> WorldMaps:
    grid, generator = load_geoid_grid(40), np.random.default_rng(0)
    shape = grid.height.shape
    mean = grid.height + generator.standard_normal(shape)
    return WorldMaps(grid.latitude, grid.longitude, grid.height, mean, np.ones(shape), np.ones(shape, dtype=bool))


def test_coverage_of_a_calibrated_prediction() -> None:
    z = np.random.default_rng(0).standard_normal(100_000)
    np.testing.assert_allclose(observed_coverage(z, SHARES), SHARES, atol=0.005)


def test_coverage_counts_the_ends_of_the_interval() -> None:
    np.testing.assert_array_equal(observed_coverage(np.zeros(3), np.array([1e-12, 0.5])), [1.0, 1.0])


def test_coverage_is_the_share_inside() -> None:
    z = np.array([-0.1, 0.3, -1.0, 2.5])
    np.testing.assert_array_equal(observed_coverage(z, SHARES), [0.25, 0.5, 0.75])


@pytest.mark.parametrize(
    ("scale", "degrees", "words"),
    [
        (1.0, None, "About right in the middle and in the tails."),
        (0.5, None, "Cautious in the middle and in the tails."),
        (2.0, None, "Overconfident in the middle and in the tails."),
        (0.7, 2, "Cautious in the middle, overconfident in the tails: the errors have heavier tails than a Gaussian."),
    ],
)
def test_the_verdict_is_that_of_the_curve(scale: float, degrees: int | None, words: str) -> None:
    generator = np.random.default_rng(0)
    z = generator.standard_normal(200_000) if degrees is None else generator.standard_t(degrees, 200_000)
    assert coverage_verdict(scale * z) == words


def test_the_picture_is_a_png_with_every_map(tmp_path: Path) -> None:
    draw_world(tmp_path / "world.png", make_maps(), "Title", "Subtitle")
    image = imread(tmp_path / "world.png")
    height, width = image.shape[:2]
    assert (width, height) == (2240, 1540)
    truth, prediction, deviation = (
        image[int(top * height), int(left * width), :3] for top, left in ((0.3, 0.2), (0.3, 0.69), (0.73, 0.2))
    )
    assert all((colour < 1).any() for colour in (truth, prediction, deviation))


def test_maps_are_not_changed(tmp_path: Path) -> None:
    maps, same = make_maps(), make_maps()
    draw_world(tmp_path / "world.png", maps, "Title", "Subtitle")
    for name, values in vars(same).items():
        np.testing.assert_array_equal(getattr(maps, name), values)


def test_missing_matplotlib_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpcommittee.plots.backend.find_spec", lambda _: None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'gpcommittee\[plots\]'"):
        require_matplotlib()
