"""Neighbourhood experts: accuracy, time, growth, changing noise and borders; `make bench-neighbourhood`.

Reads kin40k through GPCOMMITTEE_DATA and writes results/neighbourhood.md.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks._data import load_rows
from benchmarks._machine import provenance
from benchmarks.paper.clock import timed
from gpcommittee import CommitteeRegressor
from gpcommittee.aggregation import Neighbourhood
from gpcommittee.datasets.geoid import load_geoid
from gpcommittee.errors import GPCommitteeWarning
from gpcommittee.kernels import make_kernel
from gpcommittee.metrics import score_report
from gpcommittee.planning.rate import measure_dgemm_rate
from gpcommittee.records import FloatArray

RESULT = Path(__file__).parent / "results" / "neighbourhood.md"
SINGLE_ROWS = 1_000
GROWTH = (64, 256, 1024, 4096)
GROWTH_LEAF, GROWTH_TEST = 125, 20_000
NOISE_ROWS = 4_000


def kin40k(seed: int) -> list[str]:
    """Accuracy on all 30,000 test rows and time a point, beside the sum over all experts."""
    data = load_rows("kin40k", None, None, seed, None)
    model = CommitteeRegressor(random_state=seed, n_jobs=1)
    _, fit = timed(lambda: model.fit(data.X_train, data.y_train))
    lines = [
        "| rule | SMSE | MSLL | mean squared z | coverage of 95 % | ms a point | mean only | one row, with deviation |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for rule, n_test in (("neighbourhood", 30_000), ("grbcm", 4_000)):
        model.set_params(aggregation=rule)
        X, y = data.X_test[:n_test], data.y_test[:n_test]
        (mean, std), both = timed(lambda X=X: model.predict(X, return_std=True))
        _, mean_only = timed(lambda X=X: model.predict(X))
        report = score_report(
            y, mean, std, y_train_mean=float(data.y_train.mean()), y_train_var=float(data.y_train.var())
        )
        alone = np.median([_seconds_of_one(model, row) for row in X[:SINGLE_ROWS]])
        lines.append(
            f"| {rule}, {n_test:,} rows | {report.smse:.4f} | {report.msll:.3f} | {report.mean_squared_z:.2f} | "
            f"{report.coverage:.3f} | {1e3 * both.cpu / n_test:.3f} | {1e3 * mean_only.cpu / n_test:.3f} | "
            f"{1e3 * alone:.2f} ms |"
        )
    lines.append(f"\nFit {fit.cpu:.0f} CPU s; factors are those of the fit; one matrix product {_rate():.0f} GFLOP/s.")
    return lines


def growth(seed: int) -> list[str]:
    """Time a point from 64 experts to 4,096, each asked by the same number of points."""
    lines = ["| experts | rows | ms a point with the factors at hand | ms to make a factor |", "|---|---|---|---|"]
    for n_experts in GROWTH:
        generator = np.random.default_rng(seed)
        X = generator.uniform(size=(n_experts * GROWTH_LEAF, 3))
        y = np.sin(X.sum(axis=1) * 6) + 0.1 * generator.standard_normal(len(X))
        model = CommitteeRegressor(
            make_kernel("matern32", 3), optimizer=None, noise_variance=0.01, calibration="loo", random_state=0, n_jobs=1
        ).fit(X, y)
        some = generator.choice(len(X), 64)
        X_new = np.clip(np.repeat(X[some], GROWTH_TEST // 64, axis=0) + 0.001 * generator.standard_normal(3), 0, 1)
        _, first = timed(lambda model=model, X=X_new: model.predict(X, return_std=True))
        _, second = timed(lambda model=model, X=X_new: model.predict(X, return_std=True))
        n_factors = len(model._current_store().neighbourhood(Neighbourhood())._kept)
        each = 1e3 * (first.cpu - second.cpu) / n_factors
        lines.append(f"| {n_experts:,} | {len(X):,} | {1e3 * second.cpu / len(X_new):.3f} | {each:.1f} |")
    return lines


def changing_noise(seeds: range) -> list[str]:
    """Coverage of 95 % intervals where the noise is low and where it is high."""
    lines = ["| noise | inputs | held where it is low | where it is high |", "|---|---|---|---|"]
    for name, draw in (("jumps from 0.02 to 0.52", _jump), ("Poisson counts", _counts)):
        for n_inputs in (1, 2, 5):
            found = np.array([_coverage(draw, n_inputs, seed) for seed in seeds])
            cells = " | ".join(f"{held.mean():.3f} ({held.min():.3f} to {held.max():.3f})" for held in found.T)
            lines.append(f"| {name} | {n_inputs} | {cells} |")
    return lines


def borders(seed: int) -> list[str]:
    """The largest relative step of the standard deviation along parallels of the geoid, calibrated and not."""
    train = load_geoid(50_000, seed)
    model = _quiet_fit(CommitteeRegressor("matern32", random_state=seed, n_jobs=1), train.X, train.height)
    lines = ["| calibration | between points 0.01 degrees apart | 0.001 degrees apart |", "|---|---|---|"]
    for calibration in ("held_out", None):
        model.set_params(calibration=calibration)
        largest = [max(_steps(model, step, np.random.default_rng(seed))) for step in (0.01, 0.001)]
        lines.append(f"| {calibration} | " + " | ".join(f"{step:.2%}" for step in largest) + " |")
    lines.append(
        "\nThe steepest are close to training rows, where a target without noise is known: a tenth of the distance, a "
        "tenth of the step, with calibration as without, so there is no jump."
    )
    return lines


def _steps(model: CommitteeRegressor, step: float, generator: np.random.Generator) -> list[float]:
    """Largest relative step on each of 12 stretches of 15 degrees along a parallel."""
    found = []
    for latitude in np.radians(generator.uniform(-70, 70, 12)):
        longitude = np.radians(generator.uniform(0, 300) + np.arange(0, 15, step))
        level = np.full(len(longitude), np.sin(latitude))
        X = np.stack([np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), level], axis=1)
        std = model.predict(X, return_std=True)[1]
        found.append(float(np.abs(np.diff(std) / std[1:]).max()))
    return found


def _jump(X: FloatArray, generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    low = X[:, 0] < 0.5
    return np.sin(6 * X[:, 0]) + np.where(low, 0.02, 0.52) * generator.standard_normal(len(X)), low


def _counts(X: FloatArray, generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    rate = np.exp(1 + 2 * np.sin(6 * X[:, 0]))
    return generator.poisson(rate).astype(float), rate < np.e


def _coverage(draw: Callable[..., tuple[FloatArray, FloatArray]], n_inputs: int, seed: int) -> tuple[float, float]:
    generator = np.random.default_rng(seed)
    X = generator.uniform(size=(2 * NOISE_ROWS, n_inputs))
    y, low = draw(X, generator)
    model = _quiet_fit(CommitteeRegressor(random_state=seed, n_jobs=1), X[:NOISE_ROWS], y[:NOISE_ROWS])
    mean, std = model.predict(X[NOISE_ROWS:], return_std=True)
    held, low = np.abs(y[NOISE_ROWS:] - mean) < 1.959964 * std, low[NOISE_ROWS:]
    return float(held[low].mean()), float(held[~low].mean())


def _quiet_fit(model: CommitteeRegressor, X: FloatArray, y: FloatArray) -> CommitteeRegressor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GPCommitteeWarning)
        return model.fit(X, y)


def _rate() -> float:
    return measure_dgemm_rate(1) / 1e9


def _seconds_of_one(model: CommitteeRegressor, row: FloatArray) -> float:
    started = time.perf_counter()
    model.predict(row[None], return_std=True)
    return time.perf_counter() - started


SECTIONS = {
    "kin40k": ("kin40k, 10,000 rows", kin40k),
    "growth": ("Time a point over the number of experts", growth),
    "noise": ("Noise that changes over the inputs, 4,000 rows, five seeds", lambda seed: changing_noise(range(5))),
    "borders": ("Borders of experts: the geoid, 50,000 rows", borders),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--section", nargs="*", choices=SECTIONS, default=list(SECTIONS))
    arguments = parser.parse_args()
    known = RESULT.read_text(encoding="utf-8") if RESULT.exists() else ""
    parts = _sections(known)
    for name in arguments.section:
        title, run = SECTIONS[name]
        parts[title] = "\n".join(run(arguments.seed)) + f"\n\n{provenance()}"
        print(f"## {title}\n\n{parts[title]}\n", flush=True)
        body = "\n\n".join(f"## {title}\n\n{parts[title]}" for title, _ in SECTIONS.values() if title in parts)
        RESULT.write_text(
            "# Neighbourhood experts\n\n`make bench-neighbourhood`: `CommitteeRegressor` with its defaults, one "
            f"thread.\n\n{body}\n",
            encoding="utf-8",
        )


def _sections(page: str) -> dict[str, str]:
    """Text of each section of a page by its title."""
    found = [part.partition("\n\n") for part in page.split("\n## ")[1:]]
    return {title: text.strip() for title, _, text in found}


if __name__ == "__main__":
    main()
