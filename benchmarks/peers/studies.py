"""Which systems run on which rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.peers.spec import PeerRun, PeerSystem

PAPER_EXPERT_SIZE = 625
"""Rows per expert in the paper's configuration: 16 experts on kin40k."""


@dataclass(frozen=True)
class Study:
    """A data set: the kernel of all systems but one, its training rows, and how many are used (None for all)."""

    kernel: str
    all_rows: int
    rows: int | None = None
    test_rows: int | None = None


STUDIES: Mapping[str, Study] = {
    "kin40k": Study("squared_exponential", 10_000),
    "sarcos": Study("squared_exponential", 4_000),
    "geoid": Study("matern32", 938_240, 50_000, 20_000),
    "electric": Study("squared_exponential", 1_800_000, 50_000, 20_000),
}

OURS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "ours": ("ours, default but for the kernel", {}),
    "ours-auto": ("ours, default: the training chooses the kernel", {"kernel": "auto"}),
    "ours-e250": ("ours, experts of 250", {"expert_size": 250}),
    "ours-e1000": ("ours, experts of 1,000", {"expert_size": 1000}),
    "ours-c1000": ("ours, 1,000 communication rows", {"communication_size": 1000}),
    "ours-c2000": ("ours, 2,000 communication rows", {"communication_size": 2000}),
    "ours-e1000-c2000": ("ours, both", {"expert_size": 1000, "communication_size": 2000}),
    "ours-trained-on-all": ("ours, trained on all experts", {"training_experts": "all"}),
    "ours-standardised": ("ours, divided in standardised inputs", {"partition_metric": "standardised"}),
    "ours-uncalibrated": ("ours, variances not calibrated", {"calibration": None}),
}
"""Labels and settings of the library's runs, by tag."""


def runs(study: str, systems: Sequence[PeerSystem], rows: int | None, test_rows: int | None, n: int) -> list[PeerRun]:
    """Runs of systems on ``rows`` and ``test_rows`` (None: the study's own), for ``n`` seeds."""
    usual = STUDIES[study]
    sizes = (rows or usual.rows, test_rows or usual.test_rows)
    return [PeerRun(study, *sizes, system, seed) for seed in range(n) for system in systems]


def systems(study: str, rows: int | None, more: Mapping[str, Mapping[str, object]]) -> list[PeerSystem]:
    """All systems of a study, the committee with other settings among them; ``more`` adds settings by tag."""
    usual = STUDIES[study]
    n_rows = rows or usual.rows or usual.all_rows
    ours = {**OURS, **{f"ours-{tag}": (f"ours, {tag}", settings) for tag, settings in more.items()}}
    found = [*_ours(ours), _paper(n_rows), *_svgp(), *_vecchia(), *_exact(n_rows), *_neighbours()]
    return [replace(system, settings={"kernel": usual.kernel, **system.settings}) for system in found]


def shrunk(system: PeerSystem) -> PeerSystem:
    """The same system at a size of seconds."""
    small = {
        "n_subset": 60,
        "n_inducing": 20,
        "epochs": 2,
        "batch_size": 60,
        "n_neighbours": 5,
        "n_calibration": 30,
        "paper": 4,
        "expert_size": 60,
        "communication_size": 80,
    }
    limit = {"max_evaluations": 3} if system.module == "committee" else {}
    kept = {name: value for name, value in small.items() if name in system.settings}
    return replace(system, settings={**system.settings, **kept, **limit})


def _ours(settings: Mapping[str, tuple[str, Mapping[str, object]]]) -> list[PeerSystem]:
    return [PeerSystem(tag, label, "committee", chosen) for tag, (label, chosen) in settings.items()]


def _paper(n_rows: int) -> PeerSystem:
    n_experts = max(2, round(n_rows / PAPER_EXPERT_SIZE))
    return PeerSystem("ours-paper", f"ours, paper_committee({n_experts})", "committee", {"paper": n_experts})


def _svgp() -> list[PeerSystem]:
    settings = {"n_inducing": 512, "epochs": 40, "batch_size": 1024, "learning_rate": 0.01}
    return [PeerSystem("svgp-512", "GPyTorch SVGP, 512 inducing points", "svgp", settings)]


def _vecchia() -> list[PeerSystem]:
    plain = {"approximation": "vecchia", "n_neighbours": 30}
    full = {"approximation": "full_scale_vecchia", "n_neighbours": 30, "n_inducing": 300}
    return [
        PeerSystem("vecchia-30", "GPBoost Vecchia, 30 neighbours", "vecchia", plain),
        PeerSystem("full-scale-300-30", "GPBoost full-scale Vecchia, 300 inducing points", "vecchia", full),
    ]


def _exact(n_rows: int) -> list[PeerSystem]:
    sizes = sorted({min(size, n_rows) for size in (2000, 4000)})
    return [PeerSystem(f"exact-{n}", f"scikit-learn, exact on {n:,} rows", "exact", {"n_subset": n}) for n in sizes]


def _neighbours() -> list[PeerSystem]:
    settings = {"n_subset": 2000, "n_neighbours": 400, "n_calibration": 2000}
    return [PeerSystem("neighbours-400", "GPnn, 400 neighbours", "neighbours", settings)]
