"""A prediction on a world grid beside the truth, its standard deviation, and how often its intervals were right.

Maps are in the Mollweide projection, in which areas are true.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpcommittee.metrics import coverage_curve
from gpcommittee.plots.backend import require_matplotlib
from gpcommittee.records import FloatArray

HEIGHTS = "Spectral_r"
DEVIATIONS = "magma"
INK, QUIET_INK, ACCENT = "#1b1b2a", "#6b6b7b", "#b5305b"
SHARES = np.linspace(0.01, 0.99, 99)
"""Interval probabilities of the coverage curve."""

MIDDLE, TAIL = 0.5, 0.99
"""Interval probabilities by which middle and tails are judged."""

NEARLY = 0.05
"""Excess of coverage, as a share of what should be outside the interval, that counts as none."""

CAUTIOUS, RIGHT, CONFIDENT = "cautious", "about right", "overconfident"

Axes = Any


@dataclass(frozen=True)
class WorldMaps:
    """What is drawn; latitudes fall from 90 to -90, longitudes rise from 0, in even steps that meet 180.

    Attributes
    ----------
    latitude : ndarray, shape (n_latitudes,)
    longitude : ndarray, shape (n_longitudes,)
        In degrees.
    truth, mean, std : ndarray, shape (n_latitudes, n_longitudes)
        In metres.
    held_out : ndarray of bool, shape (n_latitudes, n_longitudes)
        Points that were not in the training data.
    """

    latitude: FloatArray
    longitude: FloatArray
    truth: FloatArray
    mean: FloatArray
    std: FloatArray
    held_out: NDArray[np.bool_]


def draw_world(path: str | os.PathLike[str], maps: WorldMaps, title: str, subtitle: str) -> None:
    """Write the picture to a PNG file.

    Parameters
    ----------
    path : path-like
    maps : WorldMaps
    title, subtitle : str

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(16, 11), dpi=140, facecolor="white")
    figure.text(0.035, 0.957, title, size=24, weight="bold", color=INK)
    figure.text(0.035, 0.926, subtitle, size=14, color=QUIET_INK)
    _draw_heights(figure, maps)
    _draw_deviations(figure, maps)
    _draw_coverage(figure.add_axes((0.585, 0.105, 0.36, 0.315)), maps)
    figure.savefig(path, format="png")


def observed_coverage(z: FloatArray, shares: FloatArray) -> FloatArray:
    """Share of targets inside the central interval of each probability.

    Parameters
    ----------
    z : ndarray, shape (n_points,)
        Standardised residuals.
    shares : ndarray, shape (n_shares,)
        Probabilities of the intervals.

    Returns
    -------
    ndarray, shape (n_shares,)

    Examples
    --------
    >>> observed_coverage(np.array([0.0, 1.0, -3.0, 5.0]), np.array([0.5, 0.95]))
    array([0.25, 0.5 ])
    """
    return coverage_curve(z, np.zeros_like(z), np.ones_like(z), shares)


def coverage_verdict(z: FloatArray) -> str:
    """What the coverage of half of the targets and of nearly all of them says, in one sentence.

    Parameters
    ----------
    z : ndarray, shape (n_points,)
        Standardised residuals.

    Returns
    -------
    str

    Examples
    --------
    >>> coverage_verdict(np.array([0.1, -0.1, 0.1, 9.0]))
    'Cautious in the middle, overconfident in the tails: the errors have heavier tails than a Gaussian.'
    """
    expected = np.array([MIDDLE, TAIL])
    middle, tail = (_side(excess) for excess in (observed_coverage(z, expected) - expected) / (1 - expected))
    if middle == tail:
        return f"{middle.capitalize()} in the middle and in the tails."
    heavy = ": the errors have heavier tails than a Gaussian" if (middle, tail) == (CAUTIOUS, CONFIDENT) else ""
    return f"{middle.capitalize()} in the middle, {tail} in the tails{heavy}."


def _side(excess: float) -> str:
    """On which side of the dashed line, relative to the share that should be outside the interval."""
    if abs(excess) < NEARLY:
        return RIGHT
    return CAUTIOUS if excess > 0 else CONFIDENT


def _draw_heights(figure: Any, maps: WorldMaps) -> None:
    limit = float(np.abs(maps.truth).max())
    truth = _world_axes(figure, (0.02, 0.525, 0.47, 0.36), "Truth: the EGM96 geoid")
    prediction = _world_axes(figure, (0.51, 0.525, 0.47, 0.36), "Prediction")
    for axes, values in ((truth, maps.truth), (prediction, maps.mean)):
        mesh = _draw_map(axes, maps, values, cmap=HEIGHTS, vmin=-limit, vmax=limit)
        for extreme in (int(maps.truth.argmin()), int(maps.truth.argmax())):
            _label_height(axes, maps, values, extreme)
    _draw_scale(figure, mesh, (0.3, 0.517, 0.4, 0.013), "height in metres, the same scale for both maps")


def _draw_deviations(figure: Any, maps: WorldMaps) -> None:
    axes = _world_axes(figure, (0.02, 0.09, 0.47, 0.36), "Standard deviation of the prediction")
    mesh = _draw_map(axes, maps, maps.std, cmap=DEVIATIONS, vmin=0.0, vmax=float(np.quantile(maps.std, 0.999)))
    label = "metres; dark where a training point is near: they lie at random, denser towards the poles"
    _draw_scale(figure, mesh, (0.105, 0.082, 0.3, 0.013), label, extend="max")


def _draw_coverage(axes: Axes, maps: WorldMaps) -> None:
    z = ((maps.truth - maps.mean) / maps.std)[maps.held_out]
    axes.plot([0, 1], [0, 1], color=QUIET_INK, linestyle=(0, (4, 3)), linewidth=1.2)
    axes.plot(SHARES, observed_coverage(z, SHARES), color=ACCENT, linewidth=2.6)
    axes.text(0.03, 0.95, "above the dashed line: cautious", color=QUIET_INK, size=11, va="top")
    axes.text(0.97, 0.05, "below it: overconfident", color=QUIET_INK, size=11, ha="right")
    _mark_95(axes, float(observed_coverage(z, np.array([0.95]))[0]))
    axes.text(0.5, -0.2, coverage_verdict(z), color=INK, size=10, ha="center", va="top")
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="probability of the predicted interval")
    axes.set_ylabel("share of truths inside it")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(f"Are the intervals right? {len(z):,} points held out", color=INK, size=15, pad=10)


def _mark_95(axes: Axes, covered: float) -> None:
    axes.plot([0.95], [covered], "o", color=ACCENT, markersize=8)
    axes.annotate(
        f"95% intervals hold\n{covered:.1%} of the truths",
        (0.95, covered),
        (0.62, 0.32),
        color=ACCENT,
        size=12.5,
        arrowprops={"arrowstyle": "-", "color": ACCENT, "shrinkB": 6},
    )


def _label_height(axes: Axes, maps: WorldMaps, values: FloatArray, place: int) -> None:
    from matplotlib.patheffects import withStroke

    row, column = np.unravel_index(place, values.shape)
    longitude = np.radians((maps.longitude[column] + 180.0) % 360.0 - 180.0)
    x, y = longitude, np.radians(maps.latitude[row])
    axes.plot([x], [y], "o", markersize=5, markerfacecolor="none", markeredgecolor=INK)
    axes.annotate(
        f"{values[row, column]:+.1f} m".replace("-", "\N{MINUS SIGN}"),
        (x, y),
        (0, 8),
        textcoords="offset points",
        ha="center",
        size=11.5,
        color=INK,
        path_effects=[withStroke(linewidth=2.5, foreground="white", alpha=0.8)],
    )


def _draw_scale(figure: Any, mesh: Any, place: tuple[float, float, float, float], label: str, **how: Any) -> None:
    bar = figure.colorbar(mesh, cax=figure.add_axes(place), orientation="horizontal", **how)
    bar.set_label(label, color=QUIET_INK, size=11)
    bar.outline.set_visible(False)


def _world_axes(figure: Any, place: tuple[float, float, float, float], title: str) -> Axes:
    axes = figure.add_axes(place, projection="mollweide")
    axes.set_title(title, color=INK, size=15, pad=10)
    axes.set(xticks=[], yticks=[])
    axes.grid(False)
    return axes


def _draw_map(axes: Axes, maps: WorldMaps, values: FloatArray, **colours: Any) -> Any:
    """Values on cells around the grid points, Greenwich in the middle."""
    half = len(maps.longitude) // 2
    around = np.column_stack([values[:, half:], values[:, : half + 1]])
    longitude = np.append(maps.longitude - 180.0, 180.0)
    return axes.pcolormesh(_edges(longitude), _edges(maps.latitude), around, rasterized=True, **colours)


def _edges(centres: FloatArray) -> FloatArray:
    """Borders of cells in radians; the outermost centres are the ends of the map."""
    borders: FloatArray = np.concatenate([centres[:1], 0.5 * (centres[1:] + centres[:-1]), centres[-1:]])
    return np.radians(borders)
