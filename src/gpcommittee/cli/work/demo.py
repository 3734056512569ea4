"""The geoid, learned and drawn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import numpy as np
import typer
from numpy.typing import NDArray

from gpcommittee.cli.work.cost import Cost
from gpcommittee.cli.work.evaluate import scores_as_table
from gpcommittee.cli.work.talk import aligned, counted, duration, say
from gpcommittee.datasets import Geoid, GeoidGrid, load_geoid, load_geoid_grid
from gpcommittee.datasets.geoid import N_CELLS, N_LONGITUDES, load_geoid_split
from gpcommittee.errors import InvalidParameterError
from gpcommittee.estimator import CommitteeRegressor
from gpcommittee.files import replacing
from gpcommittee.metrics import ScoreReport, score_report
from gpcommittee.persistence import check_writable
from gpcommittee.plots import WorldMaps, draw_world, require_matplotlib
from gpcommittee.records import FloatArray, IntArray

KERNEL = "matern32"

PICTURE, MODEL = "geoid.png", "geoid.gpc"
QUARTER_DEGREES_TO_THE_POLES = 720


@dataclass(frozen=True)
class DemoSize:
    """How much is learned and predicted.

    Attributes
    ----------
    rows : int
        Training points.
    test_rows : int or None
        Points held out at random to be scored. None: the map is scored where it saw no data.
    step : float
        Degrees between the points of the map.
    expert_size : int
    """

    rows: int
    test_rows: int | None
    step: float
    expert_size: int


def run_demo(size: DemoSize, folder: Path, *, seed: int, n_jobs: int | None, quiet: bool) -> None:
    """Learn the geoid from random points, map it, score what was held out, and save picture and model.

    Parameters
    ----------
    size : DemoSize
    folder : pathlib.Path
        Created if it does not exist.
    seed : int
    n_jobs : int or None
    quiet : bool

    Raises
    ------
    GPCommitteeError
        If matplotlib is missing, or the sizes or the folder cannot be used.
    """
    started = monotonic()
    require_matplotlib()
    training, test = _drawn(size, seed)
    grid = load_geoid_grid(_quarter_degrees(size.step))
    held_out = _held_out(training, grid)
    folder.mkdir(parents=True, exist_ok=True)
    check_writable(folder / MODEL)
    say(f"Learning the geoid from {size.rows:,} of its 1,038,240 points, then mapping {len(grid.X):,}.", quiet=quiet)
    cost = Cost()
    with cost.of("fit"):
        model = _fitted(training, size.expert_size, seed, n_jobs, verbose=0 if quiet else 1)
    if "noise_variance" in getattr(model.training_, "at_bounds", ()):
        say("A noise variance on its lower bound is right here: the heights are computed, not measured.", quiet=quiet)
    with cost.of("map"):
        maps = predicted_maps(model, grid, held_out)
    report, where = score_held_out(model, maps), "of the map not among the training data"
    if test is not None:
        with cost.of("points held out"):
            report, where = score_points(model, test), "held out at random"
    _save(model, maps, report, folder)
    say("", quiet=quiet)
    typer.echo(f"Scores at {counted(report.n_points, 'point')} {where}:")
    typer.echo(scores_as_table({str(model.aggregation_): report}, report.level, unit="m"))
    say(f"\nCost:\n{aligned(cost.lines)}", quiet=quiet)
    say(f"\nPicture {folder / PICTURE}, model {folder / MODEL}; {duration(monotonic() - started)} in all.", quiet=quiet)


def predicted_maps(model: CommitteeRegressor, grid: GeoidGrid, held_out: NDArray[np.bool_]) -> WorldMaps:
    """Mean and standard deviation on the grid beside the truth."""
    mean, std = model.predict(grid.X, return_std=True)
    shape = grid.height.shape
    return WorldMaps(
        latitude=grid.latitude,
        longitude=grid.longitude,
        truth=grid.height,
        mean=mean.reshape(shape),
        std=std.reshape(shape),
        held_out=held_out.reshape(shape),
    )


def trained_on(training: Geoid, grid: GeoidGrid) -> NDArray[np.bool_]:
    """Which grid points are among the training points, shape (n_grid_points,)."""
    n_latitudes, n_longitudes = grid.height.shape
    latitude, longitude = np.repeat(grid.latitude, n_longitudes), np.tile(grid.longitude, n_latitudes)
    seen = np.zeros(N_CELLS, dtype=bool)
    seen[_cells(training.latitude, training.longitude)] = True
    return seen[_cells(latitude, longitude)]


def score_held_out(model: CommitteeRegressor, maps: WorldMaps) -> ScoreReport:
    """All metrics at the points of the map that were not in the training data."""
    return _scores(model, maps.truth[maps.held_out], maps.mean[maps.held_out], maps.std[maps.held_out])


def score_points(model: CommitteeRegressor, test: Geoid) -> ScoreReport:
    """All metrics at points that were not in the training data."""
    mean, std = model.predict(test.X, return_std=True)
    return _scores(model, test.height, mean, std)


def _scores(model: CommitteeRegressor, truth: FloatArray, mean: FloatArray, std: FloatArray) -> ScoreReport:
    scaling = model.scaling_
    return score_report(truth, mean, std, y_train_mean=scaling.y_mean, y_train_var=scaling.y_scale**2)


def _drawn(size: DemoSize, seed: int) -> tuple[Geoid, Geoid | None]:
    if size.test_rows is None:
        return load_geoid(size.rows, seed), None
    return load_geoid_split(size.rows, size.test_rows, seed)


def _cells(latitude: FloatArray, longitude: FloatArray) -> IntArray:
    """Number of each point's cell in the 15-minute grid; at a pole all longitudes are one point."""
    row = np.rint(4.0 * (90.0 - latitude)).astype(np.int64)
    column = np.where(np.abs(latitude) == 90.0, 0.0, np.rint(4.0 * longitude)).astype(np.int64)
    return row * N_LONGITUDES + column


def _held_out(training: Geoid, grid: GeoidGrid) -> NDArray[np.bool_]:
    held_out = ~trained_on(training, grid)
    if not held_out.any():
        raise InvalidParameterError(
            f"--rows {len(training.X)} leaves no point of the map to score. Choose fewer rows or a smaller --step."
        )
    return held_out


def _fitted(training: Geoid, expert_size: int, seed: int, n_jobs: int | None, verbose: int) -> CommitteeRegressor:
    model = CommitteeRegressor(KERNEL, expert_size=expert_size, random_state=seed, n_jobs=n_jobs, verbose=verbose)
    return model.fit(training.X, training.height)


def _save(model: CommitteeRegressor, maps: WorldMaps, report: ScoreReport, folder: Path) -> None:
    model.set_params(verbose=0, n_jobs=None).save(folder / MODEL)
    n_rows, n_experts = len(model.partition_.order), model.partition_.n_experts
    subtitle = (
        f"A committee of {n_experts:,} Gaussian-process experts (Matérn-3/2 kernel). At {report.n_points:,} "
        f"points held out: RMSE {report.rmse:.2f} m, SMSE {report.smse:.2g}."
    )
    with replacing(folder / PICTURE) as temporary:
        draw_world(temporary, maps, f"The Earth's geoid, learned from {n_rows:,} scattered heights", subtitle)


def _quarter_degrees(step: float) -> int:
    quarters = round(4 * step)
    if quarters != 4 * step or quarters < 1 or QUARTER_DEGREES_TO_THE_POLES % quarters:
        raise InvalidParameterError(
            f"--step is {step:g} degrees; the map needs a multiple of 0.25 that divides 180, such as 0.5, 1, 1.5 or 3."
        )
    return quarters
