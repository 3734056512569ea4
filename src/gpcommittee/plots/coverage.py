"""How often intervals were right, beside how often they say they are."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from numpy.typing import ArrayLike

from gpcommittee.plots.backend import require_matplotlib
from gpcommittee.records import FloatArray


def draw_coverage(
    path: str | os.PathLike[str],
    levels: Sequence[float] | FloatArray,
    curves: Mapping[str, ArrayLike],
    title: str = "Are the intervals right?",
) -> None:
    """Write coverage curves to a PNG file.

    Parameters
    ----------
    path : path-like
    levels : sequence of float, shape (n_levels,)
        Probabilities of the intervals.
    curves : mapping of str to array_like, shape (n_levels,)
        What ``gpcommittee.metrics.coverage_curve`` returned at these levels, by the name shown, such as the rule's.
    title : str

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 6), dpi=140, facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="#6b6b7b", linestyle=(0, (4, 3)), linewidth=1.2, label="as promised")
    for name, covered in curves.items():
        axes.plot(levels, covered, marker="o", markersize=4, label=name)
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="probability of the predicted interval", title=title)
    axes.set_ylabel("share of targets inside it")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.text(0.97, 0.03, "below the dashed line: overconfident", color="#6b6b7b", ha="right")
    axes.legend(loc="upper left", frameon=False)
    figure.savefig(path, format="png")
