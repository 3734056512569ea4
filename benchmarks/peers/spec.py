"""What a run is: a system on so many rows of a data set. Frozen, and comparable by its settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class PeerSystem:
    """One of the systems compared.

    Attributes
    ----------
    tag : str
        Its part of a run's name.
    label : str
        Its name in tables and plots.
    module : str
        In ``benchmarks.peers.systems``.
    settings : mapping
        Arguments of that module's ``fit``.
    """

    tag: str
    label: str
    module: str
    settings: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class PeerRun:
    """One fit and its predictions; ``seed`` decides the split where it is drawn, and whatever the system draws."""

    study: str
    rows: int | None
    test_rows: int | None
    system: PeerSystem
    seed: int = 0

    @property
    def name(self) -> str:
        sizes = "".join(f"-{letter}{n}" for letter, n in (("n", self.rows), ("t", self.test_rows)) if n is not None)
        return f"{self.study}{sizes}-{self.system.tag}-r{self.seed:02d}"

    def settings(self) -> str:
        """All that decides the run's numbers, as JSON."""
        decisive = {key: value for key, value in asdict(self).items() if key != "study"}
        decisive["system"] = {"module": self.system.module, **self.system.settings}
        return json.dumps(decisive, sort_keys=True)
