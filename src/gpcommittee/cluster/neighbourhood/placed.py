"""Neighbourhood experts that are ready on a cluster, in either form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from gpcommittee.records import FloatArray

if TYPE_CHECKING:
    from distributed import Future


@dataclass(frozen=True)
class LeftOut:
    """Training rows, and what is said of them by all others, in standardised units; arrays of shape (n_rows,).

    Attributes
    ----------
    target : ndarray
    mean, var_latent : ndarray
    relative_noise : ndarray
        Noise variance in units of the shared one.
    """

    target: FloatArray
    mean: FloatArray
    var_latent: FloatArray
    relative_noise: FloatArray


class PlacedExperts(Protocol):
    """Neighbourhood experts on a cluster."""

    @property
    def batch_points(self) -> int:
        """Test points of a batch: where factors may have to be made again for each, more than elsewhere."""

    @property
    def n_tasks(self) -> int:
        """Tasks of a batch that can run side by side."""

    def submit(self, model: Future[Any], blend: int, X: FloatArray | Future[Any], mean_only: bool) -> Future[Any]:
        """Start the prediction of a batch.

        Parameters
        ----------
        model : Future of Model
        blend : int
            Most experts at a point.
        X : ndarray, shape (n_points, n_features), or Future of one
            At least one point, in original units.
        mean_only : bool

        Returns
        -------
        Future of Answer
            Of one rule.
        """

    def leave_out(self, model: Future[Any], blend: int) -> LeftOut:
        """Predictions of some training rows without themselves, those of one machine."""
