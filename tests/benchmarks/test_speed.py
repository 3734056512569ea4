"""The speed benchmarks measure what they say, at sizes of a fraction of a second, and show it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.paper.measure import Row
from benchmarks.speed import __main__ as command
from benchmarks.speed import plan as planning
from benchmarks.speed import planned
from benchmarks.speed.dgemm import Shares, shares_of_dgemm
from benchmarks.speed.latency import latency
from benchmarks.speed.likelihood import likelihood
from benchmarks.speed.moments import moments
from benchmarks.speed.options import SMOKE, Options
from benchmarks.speed.report import SECTIONS, write_page
from benchmarks.speed.scaling import scaling
from benchmarks.speed.store import read_result, write_result

TINY = replace(SMOKE, repeats=1, size=20, expert_size=25, test_rows=20, predictions=3, rows=120)


@pytest.fixture(autouse=True)
def _known_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("dgemm", "planned", "scaling"):
        monkeypatch.setattr(f"benchmarks.speed.{module}.measure_dgemm_rate", lambda n_jobs: 2e9)


def assert_shown(name: str, rows: list[Row], *, without: frozenset[str] = frozenset()) -> None:
    """Every column of the benchmark's tables is in its rows, as a number or a text."""
    for section in SECTIONS[name]:
        shown = [row for row in rows if not section.only or section.only in row]
        assert shown
        for key in {key for key, _ in section.columns.values()} - without:
            assert any(row.get(key) is not None for row in shown), key


def test_a_share_is_operations_over_time_and_rate() -> None:
    calls: list[int] = []
    shares = shares_of_dgemm(lambda: calls.append(sum(range(10_000))), 3e3, repeats=4)
    assert len(calls) == 5
    expected = [3e3 / seconds / 2e9 for seconds in shares.cpu_seconds]
    np.testing.assert_allclose(shares.shares, expected, rtol=1e-12)
    assert shares.gflops == (2.0,) * 5


def test_the_median_of_repeats_is_told_with_its_range() -> None:
    summary = Shares((0.3, 0.5, 0.1), (1.0, 2.0, 9.0), (30.0, 32.0, 34.0, 90.0)).summary()
    assert summary == {
        "share": 0.3,
        "least": 0.1,
        "most": 0.5,
        "cpu_seconds": 2.0,
        "dgemm_gflops": 33.0,
        "repeats": 3,
    }


def test_likelihood_and_moments_have_a_row_per_kernel_and_question() -> None:
    for name, rows, per_kernel in (("likelihood", likelihood(TINY), 2), ("moments", moments(TINY), 4)):
        assert [row["kernel"] for row in rows] == ["squared_exponential"] * per_kernel + ["matern32"] * per_kernel
        assert_shown(name, rows)


def test_scaling_has_every_size_and_its_growth_from_the_smallest() -> None:
    rows = scaling(TINY)
    assert [row["n_experts"] for row in rows] == list(TINY.experts)
    assert [row["n_rows"] for row in rows] == [75, 150]
    assert rows[0]["growth"] == 1.0
    assert_shown("scaling", rows)


def test_a_run_and_its_plan_are_put_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "KERNELS", {"geoid": "matern32"})
    monkeypatch.setattr(planning, "ask_child", lambda module, question, arrays: planned.work(question, arrays)[0])
    fit, predict = planning.plan(TINY)
    assert (fit["n_train"], fit["n_test"], fit["evaluations"]) == (120, TINY.plan_test_rows, TINY.max_evaluations)
    assert predict["memory_ratio"] == pytest.approx(predict["planned_gib"] / predict["peak_gib"])  # type: ignore[operator]
    assert_shown("plan", [fit, predict])


@pytest.mark.usefixtures("data_dir")
def test_latency_is_of_single_rows() -> None:
    rows = latency(TINY)
    assert [(row["model"], row["n_jobs"]) for row in rows] == [
        ("paper_committee(16)", 1),
        ("paper_committee(16)", 2),
        ("default", 1),
        ("default", 2),
    ]
    assert_shown("latency", rows)


def test_the_page_shows_what_is_stored_and_how_it_was_made(tmp_path: Path) -> None:
    assert write_page(tmp_path, tmp_path / "speed.md") is None
    row: Row = {"model": "default", "n_experts": 20, "n_jobs": 1, "wall_ms": 12.34, "wall_ms_95": 20.0, "cpu_ms": 11.0}
    write_result(tmp_path, "latency", [row], Options(predictions=77), load_before=0.5)
    stored = read_result(tmp_path, "latency")
    assert stored is not None
    assert stored["rows"] == [row]
    assert {"finished", "machine", "versions", "load", "options"} <= stored.keys()
    page = write_page(tmp_path, tmp_path / "speed.md")
    assert page is not None
    text = page.read_text(encoding="utf-8")
    assert "| default | 20 | 1 | 12.3 | 20.0 | 11.0 |" in text
    assert "77 predictions of a single row" in text
    assert re.search(r"load average 0\.5 before and [\d.]+ after; python 3", text)


def test_the_command_runs_what_is_named_and_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["report", "--results", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "nothing is stored yet\n"
    arguments = ["likelihood", "--smoke", "--size", "20", "--repeats", "1", "--results", str(tmp_path)]
    assert command.main(arguments) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["speed", "speed.md"]
    with pytest.raises(SystemExit):
        command.main(["likelihod"])
    assert "is none of likelihood, moments" in capsys.readouterr().err
