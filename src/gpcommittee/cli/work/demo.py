"""The geoid, learned and drawn."""

from __future__ import annotations

from pathlib import Path
from time import monotonic

import numpy as np
import typer
from numpy.typing import NDArray

from gpcommittee.cli.work.evaluate import scores_as_table
from gpcommittee.cli.work.talk import counted, duration, say
from gpcommittee.datasets import Geoid, GeoidGrid, load_geoid, load_geoid_grid
from gpcommittee.errors import InvalidParameterError
from gpcommittee.estimator import CommitteeRegressor
from gpcommittee.files import replacing
from gpcommittee.metrics import ScoreReport, score_report
from gpcommittee.persistence import check_writable
from gpcommittee.plots import WorldMaps, draw_world, require_matplotlib

EXPERT_SIZE = 250
"""Half the usual size: the demo takes half the time, and the scores hardly change."""

PICTURE, MODEL = "geoid.png", "geoid.gpc"
QUARTER_DEGREES_TO_THE_POLES = 720


def run_demo(rows: int, step: float, folder: Path, *, seed: int, n_jobs: int | None, quiet: bool) -> None:
    """Learn the geoid from random points, map it, score the map where it saw no data, and save picture and model.

    Parameters
    ----------
    rows : int
        Training points.
    step : float
        Degrees between the points of the map.
    folder : pathlib.Path
        Created if it does not exist.
    seed : int
    n_jobs : int or None
    quiet : bool

    Raises
    ------
    GPCommitteeError
        If matplotlib is missing, or the number of rows, the step or the folder cannot be used.
    """
    started = monotonic()
    require_matplotlib()
    training, grid = load_geoid(rows, seed), load_geoid_grid(_quarter_degrees(step))
    held_out = _held_out(training, grid)
    folder.mkdir(parents=True, exist_ok=True)
    check_writable(folder / MODEL)
    say(f"Learning the geoid from {rows:,} of its 1,038,240 points, then mapping {len(grid.X):,}.", quiet=quiet)
    model = _fitted(training, seed, n_jobs, verbose=0 if quiet else 1)
    if "noise_variance" in getattr(model.training_, "at_bounds", ()):
        say("A noise variance on its lower bound is right here: the heights are computed, not measured.", quiet=quiet)
    maps = predicted_maps(model, grid, held_out)
    report = score_held_out(model, maps)
    _save(model, maps, report, folder)
    say("", quiet=quiet)
    typer.echo(f"Scores at {counted(report.n_points, 'point')} of the map not among the training data:")
    typer.echo(scores_as_table({"grbcm": report}, report.level, unit="m"))
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
    # Adding 0 makes -0 equal to 0: at a pole all longitudes are one point.
    seen = {point.tobytes() for point in training.X + 0.0}
    return np.array([point.tobytes() in seen for point in grid.X + 0.0])


def score_held_out(model: CommitteeRegressor, maps: WorldMaps) -> ScoreReport:
    """All metrics at the points of the map that were not in the training data."""
    return score_report(
        maps.truth[maps.held_out],
        maps.mean[maps.held_out],
        maps.std[maps.held_out],
        y_train_mean=model.scaling_.y_mean,
        y_train_var=model.scaling_.y_scale**2,
    )


def _held_out(training: Geoid, grid: GeoidGrid) -> NDArray[np.bool_]:
    held_out = ~trained_on(training, grid)
    if not held_out.any():
        raise InvalidParameterError(
            f"--rows {len(training.X)} leaves no point of the map to score. Choose fewer rows or a smaller --step."
        )
    return held_out


def _fitted(training: Geoid, seed: int, n_jobs: int | None, verbose: int) -> CommitteeRegressor:
    model = CommitteeRegressor(
        kernel="matern32", expert_size=EXPERT_SIZE, random_state=seed, n_jobs=n_jobs, verbose=verbose
    )
    return model.fit(training.X, training.height)


def _save(model: CommitteeRegressor, maps: WorldMaps, report: ScoreReport, folder: Path) -> None:
    model.set_params(verbose=0, n_jobs=None).save(folder / MODEL)
    n_rows, n_experts = len(model.partition_.order), model.partition_.n_experts
    subtitle = (
        f"A committee of {n_experts} Gaussian-process experts (Matérn-3/2 kernel, GRBCM). At points held out: RMSE "
        f"{report.rmse:.2f} m, SMSE {report.smse:.2g}."
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
