from __future__ import annotations

import json
import os
import subprocess
import sys
from enum import StrEnum
from pathlib import Path

import pytest

import gpcommittee
from command_line import run
from gpcommittee.aggregation import RULES
from gpcommittee.cli import options
from gpcommittee.kernels import KERNELS
from gpcommittee.partition import PARTITIONERS

COMMANDS = ("fit", "predict", "evaluate", "plan", "demo")
HELP_PROBE = """
import json, sys, types
package = types.ModuleType("gpcommittee")
package.__path__ = [sys.argv.pop(1)]
sys.modules["gpcommittee"] = package
from gpcommittee.cli import main
try:
    main()
except SystemExit as ended:
    code = ended.code
heavy = sorted({"torch", "gpytorch", "numpy", "scipy", "sklearn", "pyarrow", "matplotlib"} & set(sys.modules))
print(json.dumps({"code": code, "heavy": heavy}))
"""


def test_help_lists_every_command() -> None:
    text = run("--help").output
    assert all(command in text for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_has_examples(command: str) -> None:
    text = run(command, "--help").output
    assert "Examples" in text
    assert f"gpcommittee {command}" in text.split("Examples")[1]
    assert "\\b" not in text


@pytest.mark.parametrize("command", COMMANDS)
def test_flags_are_shown_without_a_type(command: str) -> None:
    flags = [line for line in run(command, "--help").output.splitlines() if "<bool>" in line]
    assert [line.split()[1] for line in flags] == ["--help"]


@pytest.mark.parametrize("command", COMMANDS[:-1])
def test_a_command_without_arguments_shows_its_help(command: str) -> None:
    assert "Examples" in run(command, code=2).output


def test_version() -> None:
    assert run("--version").output == f"gpcommittee {gpcommittee.__version__}\n"


@pytest.mark.parametrize("arguments", [("--help",), ("fit", "--help"), ("predict", "--level", "2")])
def test_help_and_usage_errors_load_nothing_heavy(arguments: tuple[str, ...]) -> None:
    """The package itself stands aside: this is about the command line's own modules."""
    command = [sys.executable, "-c", HELP_PROBE, str(Path(gpcommittee.__file__).parent), *arguments]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = json.loads(output.splitlines()[-1])
    assert found == {"code": 2 if "--level" in arguments else 0, "heavy": []}


def test_the_package_is_a_program() -> None:
    source = str(Path(gpcommittee.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source}
    command = [sys.executable, "-m", "gpcommittee", "evaluate", "missing.gpc", "missing.csv"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: There is no model file 'missing.gpc'. Check the path; the command fit writes one.\n"


@pytest.mark.parametrize(
    ("names", "known"),
    [
        (options.KernelName, {**KERNELS, "auto": None}),
        (options.AggregationName, {**RULES, "auto": None}),
        (options.PartitionName, PARTITIONERS),
    ],
)
def test_names_are_those_of_the_library(names: type[StrEnum], known: dict[str, object]) -> None:
    assert set(names) == set(known)


def test_column_names_with_commas_are_quoted() -> None:
    assert options.split_names('a, "b, c",d') == ("a", "b, c", "d")
    assert options.split_names(None) is None
    assert options.split_names("") == ()
