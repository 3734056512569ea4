from __future__ import annotations

import pytest
import torch

from gpcommittee.errors import InvalidParameterError
from gpcommittee.planning import measure_dgemm_rate, rate


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate, "CPU_SECONDS", 0.0)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rate_is_that_of_a_processor(dtype: str) -> None:
    assert 1e7 < measure_dgemm_rate(1, dtype) < 1e13


def test_the_callers_thread_setting_is_left_alone() -> None:
    threads = torch.get_num_threads()
    measure_dgemm_rate(2)
    assert torch.get_num_threads() == threads


def test_workers_beyond_the_processors_add_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0}, raising=False)
    monkeypatch.setattr(rate, "_worker_rate", lambda *_: 5.0)
    assert measure_dgemm_rate(1) == measure_dgemm_rate(64) == 5.0


def test_workers_beyond_those_measured_are_taken_to_be_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(100)), raising=False)
    monkeypatch.setattr(rate, "_worker_rate", lambda *_: 5.0)
    assert measure_dgemm_rate(64) == 64 * 5.0


def test_unknown_type_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"dtype must be one of \['float32', 'float64'\], got 'half'"):
        measure_dgemm_rate(1, "half")
