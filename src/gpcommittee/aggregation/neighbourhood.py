"""Neighbourhood experts: overlapping exact processes, each on the rows around a leaf, blended near their borders.

What one expert is stands in ``gpcommittee.experts.neighbourhood``; which of them a point takes, and with which weights,
in ``gpcommittee.prediction.neighbourhood``. The rule itself is the sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import ClassVar

from gpcommittee.aggregation.rule import Experts, Reference, Rule
from gpcommittee.choices import check_count

EXACT_ROWS = 4_000
"""Rows up to which one expert holds them all by default: the exact process, at 30 MB a factor."""

NEIGHBOURHOOD_ROWS = (500, 2_000)
"""Fewest and most rows of an expert by default beyond that."""

ROWS_PER_INPUT = 500
"""Rows of an expert that each input beyond the second is worth: few inputs are surrounded by few rows."""

MOST_AT = 50_000
"""Rows up to which experts have the most; their number falls with the root of the number of rows from there."""

LEAF_ROWS = (125, 250)
"""Fewest and most rows of a leaf by default."""

LEAVES = 80
"""Leaves that as few rows are cut into: small leaves lie deep in their neighbourhood, and each costs a factor."""


@dataclass(frozen=True)
class NeighbourhoodSizes:
    """Sizes of the neighbourhood experts of some rows.

    Attributes
    ----------
    n_rows : int
        Rows of an expert.
    leaf_size : int
        Most rows of a leaf; ``n_rows`` or more where one expert holds all rows.
    communication : int
        Communication rows in every expert.
    """

    n_rows: int
    leaf_size: int
    communication: int


@dataclass(frozen=True)
class Neighbourhood(Rule):
    """Exact processes on overlapping neighbourhoods of rows, blended.

    Rows are cut into leaves of neighbouring rows. The expert of a leaf is the exact process on the leaf's rows, the
    rows nearest to it and, on request, some random ones. A point is predicted by the experts of the leaves that its
    nearest rows lie in, weighted by how many and how near these are: a continuous function of the point, at a cost
    that does not grow with the number of rows. With ``n_rows`` of at least all rows it is the exact process.

    Parameters
    ----------
    n_rows : int, optional
        Rows of an expert. Default: all up to 4,000, and with one expert; beyond that 500 with up to three inputs, 500
        more for each other one up to 2,000, falling with the root of the number of rows from 50,000 to 500.
    leaf_size : int, optional
        Most rows of a leaf. Default: 125 up to 10,000 rows, rising to 250 at 20,000; at most a quarter of ``n_rows``.
    communication : int, default=0
        Rows of the communication set that every expert holds beside its own, where it has as many.
    blend : int, default=2
        Most experts that are blended at a point.

    References
    ----------
    Vecchia (1988), "Estimation and model identification for continuous spatial processes", JRSS B 50(2). Gramacy and
    Apley (2015), "Local Gaussian process approximation for large computer experiments", JCGS 24(2). Quiroz, Prates, Dey
    and Rue (2023), "Fast Bayesian inference of block nearest neighbor Gaussian models for large data", Statistics and
    Computing 33.
    """

    experts: ClassVar[Experts] = Experts.NONE
    reference: ClassVar[Reference] = Reference.NONE

    n_rows: int | None = None
    leaf_size: int | None = None
    communication: int = 0
    blend: int = 2

    def __post_init__(self) -> None:
        for name, least in (("n_rows", 2), ("leaf_size", 1), ("communication", 0), ("blend", 1)):
            value = getattr(self, name)
            if value is not None or name in ("communication", "blend"):
                check_count(f"Neighbourhood: {name}", value, least)

    def sizes(self, n_rows: int, n_experts: int, n_features: int) -> NeighbourhoodSizes:
        """Sizes for so many rows.

        Parameters
        ----------
        n_rows : int
            Rows of the committee.
        n_experts : int
            Its experts.
        n_features : int
            Inputs.

        Returns
        -------
        NeighbourhoodSizes

        Examples
        --------
        >>> Neighbourhood().sizes(10_000, 9, n_features=8)
        NeighbourhoodSizes(n_rows=2000, leaf_size=125, communication=0)
        >>> Neighbourhood().sizes(200_000, 400, n_features=8).n_rows
        1000
        """
        wanted = _default_rows(n_rows, n_experts, n_features) if self.n_rows is None else self.n_rows
        if wanted >= n_rows:
            return NeighbourhoodSizes(n_rows, n_rows, 0)
        leaf = self.leaf_size
        if leaf is None:
            leaf = max(1, min(_within(LEAF_ROWS, n_rows // LEAVES), wanted // 4))
        return NeighbourhoodSizes(wanted, leaf, min(self.communication, max(0, wanted - leaf)))


def _default_rows(n_rows: int, n_experts: int, n_features: int) -> int:
    if n_rows <= EXACT_ROWS or n_experts == 1:
        return n_rows
    most = _within(NEIGHBOURHOOD_ROWS, ROWS_PER_INPUT * (n_features - 2))
    return _within(NEIGHBOURHOOD_ROWS, isqrt(most**2 * MOST_AT // max(n_rows, MOST_AT)))


def _within(limits: tuple[int, int], value: int) -> int:
    return min(max(value, limits[0]), limits[1])
