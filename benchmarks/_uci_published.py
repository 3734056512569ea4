"""What others report of the UCI sets: RMSE and negative log density per row, on standardised targets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

LEGEND = (
    "A: an exact GP, Matérn-3/2, out of core on a GPU, 90/10 splits; A64: the same on 64 % of the rows; W: Wang et al. "
    "2019, an exact GP on 64 % of the rows; SDD: Lin et al. 2024, stochastic dual descent, 90/10 splits; SoftKI: soft "
    "kernel interpolation; SGPR: sparse GP regression. Figures from memory are marked: check them before quoting."
)


@dataclass(frozen=True)
class Published:
    """Figures of one source; None where it gives none.

    Attributes
    ----------
    source : str
        As in ``LEGEND``.
    rmse, nll : str or None
        With the digits of the source.
    note : str
        What sets the figures apart.
    """

    source: str
    rmse: str | None
    nll: str | None
    note: str = ""

    def __str__(self) -> str:
        remarks = ", ".join(filter(None, [self.source, self.note]))
        return f"{self.rmse or '–'} / {self.nll or '–'} ({remarks})"


MEMORY = "from memory"

BEST = {
    "elevators": (Published("A", "0.354", "0.382"), Published("A64", "0.355", "0.375")),
    "pol": (Published("A64", "0.076", "-1.224"),),
    "bike": (Published("A64", "0.020", "-3.104", "noise floor 1e-2"),),
    "keggdirected": (Published("SoftKI", "0.081", None), Published("SGPR", None, "-1.12", MEMORY)),
    "kin40k": (Published("A", "0.065", "-1.319"),),
}
"""The lowest of each set."""

OTHERS = {
    "elevators": (Published("SDD", "0.35", "0.38", MEMORY),),
    "pol": (Published("SDD", "0.08", "-1.18", MEMORY),),
    "bike": (Published("SDD", "0.04", "-2.49", MEMORY),),
    "keggdirected": (Published("SDD", "0.08", "-0.92", MEMORY),),
    "kin40k": (Published("W", "0.080", "-0.755"),),
}


def shown(figures: Iterable[Published]) -> str:
    """A cell of the table."""
    return "; ".join(map(str, figures))
