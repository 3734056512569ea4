"""A fit that is stopped goes on from its checkpoint to the very same model."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import gpcommittee
from command_line import make_table, read, run, write
from gpcommittee import CommitteeRegressor
from gpcommittee.cli.outcome import outcome

# A shell without job control has its background processes ignore interrupts, and they hand that on.
HEED_INTERRUPTS = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from gpcommittee.cli import main
main()
"""
ENOUGH_LINES = 4
PATIENCE = 60.0


def arguments(folder: Path) -> list[str]:
    return [
        *("fit", str(folder / "train.parquet"), "--target", "y", "--out", str(folder / "model.gpc")),
        *("--kernel", "rational_quadratic", "--expert-size", "200", "--jobs", "1"),
    ]


def stopped(command: list[str], checkpoint: Path, how: signal.Signals) -> tuple[int, str]:
    """Exit code and standard error of a fit that gets a signal once its log has a few lines."""
    environment = {**os.environ, "PYTHONPATH": str(Path(gpcommittee.__file__).parents[1]), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", HEED_INTERRUPTS, *command], env=environment, stderr=subprocess.PIPE, text=True
    )
    try:
        _wait_for_lines(checkpoint, process)
        process.send_signal(how)
        error = process.communicate(timeout=PATIENCE)[1]
    finally:
        process.kill()
    return process.returncode, error


def _wait_for_lines(checkpoint: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not (checkpoint.exists() and checkpoint.read_bytes().count(b"\n") >= ENOUGH_LINES):
        assert process.poll() is None, "the fit ended before it was stopped"
        assert time.monotonic() < deadline, "the fit logs nothing"
        time.sleep(0.01)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_fit_goes_on(tmp_path: Path, how: signal.Signals) -> None:
    data = write(make_table(400), tmp_path / "train.parquet")
    checkpoint, model = tmp_path / "fit.log", tmp_path / "model.gpc"
    command = [*arguments(tmp_path), "--checkpoint", str(checkpoint)]
    code, error = stopped(command, checkpoint, how)
    assert not model.exists()
    if how is not signal.SIGKILL:
        assert code == {signal.SIGINT: 130, signal.SIGTERM: 143}[how]
        said = {signal.SIGINT: "Interrupted", signal.SIGTERM: "Terminated"}[how]
        assert error.endswith(
            f"{said}. No model was written; the same command goes on from the checkpoint {checkpoint}.\n"
        )
    assert "evaluations from the checkpoint" in run(*command).stderr
    resumed = CommitteeRegressor.load(model)
    run(*arguments(tmp_path), "--quiet")
    whole = CommitteeRegressor.load(model)
    inputs = read(data).select(["a", "b"]).slice(0, 20)
    np.testing.assert_array_equal(resumed.predict(inputs, return_std=True), whole.predict(inputs, return_std=True))
    assert resumed.training_ is not None
    assert whole.training_ is not None
    assert resumed.training_.reused >= ENOUGH_LINES - 1
    assert resumed.training_.evaluations == whole.training_.evaluations


def test_without_a_checkpoint_an_interrupt_says_how_to_have_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    write(make_table(), tmp_path / "train.parquet")
    monkeypatch.setattr(CommitteeRegressor, "fit", interrupted)
    text = run(*arguments(tmp_path), "--quiet", code=130).output
    assert text == "Interrupted. Nothing was written; with --checkpoint PATH a fit can go on after an interrupt.\n"


def test_an_interrupted_prediction_leaves_no_file(
    model: Path, new: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(CommitteeRegressor, "_predict", interrupted)
    text = run("predict", model, new, "--out", tmp_path / "out.csv", code=130).output
    assert text.endswith("Interrupted. Nothing was written.\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.parquet"]


def test_a_terminated_prediction_leaves_no_file(
    model: Path, new: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def terminated(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(PATIENCE)

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(CommitteeRegressor, "_predict", terminated)
    text = run("predict", model, new, "--out", tmp_path / "out.csv", code=143).output
    assert text.endswith("Terminated. Nothing was written.\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.parquet"]
    assert signal.getsignal(signal.SIGTERM) == before


def test_termination_is_heeded_in_the_main_thread_alone() -> None:
    codes: list[int] = []

    def work() -> None:
        with outcome():
            codes.append(0)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert codes == [0]
