"""What CONTRIBUTING.md says of the rooms is what the import contract says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_room_is_told_in_its_layer() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = [set(re.findall(r"\w+", layer)) for layer in contracts[0]["layers"]]
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Layers")[2]
    told = [set(re.findall(r"\w+", layer)) for layer in text.split("```")[1].split(">")]
    assert told == layers
    layout = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Layout")[2].split("```")[1]
    names = set(re.findall(r"\b(\w+)(?:/|\.py)", layout))
    assert {room for layer in layers for room in layer} <= names
