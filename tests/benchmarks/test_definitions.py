"""The studies hold what the paper ran, under names that tell runs apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.paper.data import LOADERS
from benchmarks.paper.options import Options
from benchmarks.paper.spec import RunSpec, smoke
from benchmarks.paper.studies import STUDIES
from benchmarks.paper.studies.large import electric_runs, song_runs
from benchmarks.paper.studies.medium import SARCOS, kin40k_runs, medium_runs, sarcos_runs
from benchmarks.paper.studies.toy import toy_runs
from benchmarks.paper.systems.committee import CommitteeSystem
from benchmarks.paper.systems.fitc import FITCSystem
from benchmarks.paper.systems.sod import SODSystem
from benchmarks.paper.systems.svi import SVISystem

WITHOUT_DATA = Options(data=Path("nowhere"))


def by_type(runs: list[RunSpec], system: type) -> list[RunSpec]:
    return [run for run in runs if isinstance(run.system, system)]


def experts(runs: list[RunSpec]) -> set[tuple[int, str]]:
    return {(run.system.n_experts, run.system.partition) for run in runs if isinstance(run.system, CommitteeSystem)}


@pytest.mark.parametrize("study", STUDIES)
def test_runs_have_names_and_settings_of_their_own(study: str) -> None:
    runs = STUDIES[study](WITHOUT_DATA)
    assert len({run.name for run in runs}) == len({run.settings() for run in runs}) == len(runs)
    assert {run.study for run in runs} == {study}
    assert all(run.data.name in LOADERS for run in runs)


def test_toy_has_the_sizes_of_section_4_1() -> None:
    runs = toy_runs(Options(repeats=1))
    committees = {run.data.rows: run.system for run in runs if isinstance(run.system, CommitteeSystem)}
    assert {n: system.n_experts for n, system in committees.items()} == {
        10_000: 20,
        50_000: 100,
        100_000: 200,
        500_000: 1000,
        1_000_000: 2000,
    }
    assert [n for n, system in committees.items() if system.npae] == [10_000, 50_000]
    assert [run.data.rows for run in runs if run.data.grid] == [10_000, 500_000]


def test_kin40k_has_every_system_of_section_4_2_ten_times() -> None:
    runs = kin40k_runs(Options())
    assert experts(runs) == {(16, "kmeans"), (8, "kmeans"), (64, "kmeans"), (16, "random")}
    assert {run.system for run in by_type(runs, FITCSystem)} == {FITCSystem(n_inducing=200)}
    assert {run.system for run in by_type(runs, SVISystem)} == {SVISystem(200, batch_size=1000, iterations=1200)}
    assert {run.system for run in by_type(runs, SODSystem)} == {SODSystem(2500)}
    assert len(runs) == 7 * 10
    assert [run.system.n_experts for run in runs if isinstance(run.system, CommitteeSystem) and run.system.npae] == (
        [16] * 10
    )


def test_sarcos_is_the_papers_with_both_files_and_says_so_without() -> None:
    full, at_hand = medium_runs(SARCOS, Options(repeats=1)), sarcos_runs(Options(repeats=1, data=Path("nowhere")))
    assert experts(full) == {(72, "kmeans"), (36, "kmeans"), (288, "kmeans"), (72, "random")}
    assert experts(at_hand) == {(16, "kmeans"), (8, "kmeans"), (64, "kmeans"), (16, "random")}
    assert all("n4000" in run.name for run in at_hand)
    assert by_type(full, SVISystem)[0].system == SVISystem(300, batch_size=4448, iterations=1200)


def test_large_sets_have_the_sizes_of_section_4_3() -> None:
    assert experts(electric_runs(Options())) == {(2880, "kmeans")}
    assert experts(song_runs(Options())) == {(720, "kmeans")}
    assert by_type(electric_runs(Options()), SVISystem)[0].system == SVISystem(1000, 5000, 1500)
    assert by_type(song_runs(Options()), SVISystem)[0].system == SVISystem(800, 5000, 1300)


def test_experts_keep_their_size_when_rows_are_cut() -> None:
    committee, _ = electric_runs(Options(rows=180_000, test_rows=25_000))
    assert committee.system.n_experts == 288  # type: ignore[attr-defined]
    assert committee.name == "electric-n180000-t25000-m288-kmeans-r00"
    assert (committee.data.rows, committee.data.test_rows) == (180_000, 25_000)


def test_smoke_runs_are_small_and_carry_another_name() -> None:
    for study in STUDIES.values():
        for run in study(WITHOUT_DATA):
            small = smoke(run)
            settings = json.loads(small.settings())
            assert small.name == f"{run.name}-smoke"
            assert settings["data"]["rows"] <= 300
            assert max(settings["system"].get(name, 0) for name in ("n_experts", "n_inducing", "n_subset")) <= 50
