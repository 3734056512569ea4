"""What a committee sees at a chunk of test points: the rules' context, and the moments of one expert at a time."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from gpcommittee.aggregation import Context, Experts
from gpcommittee.experts import Committee, Projection, augmented_moments, base_moments, moments_as, project
from gpcommittee.prediction.factors import Factors
from gpcommittee.records import Moments
from gpcommittee.scratch import Scratch


class View:
    """A committee's view of a chunk of test points. One worker at a time may use it.

    Parameters
    ----------
    committee : Committee
    factors : Factors
        Of the experts whose moments will be asked for.
    x : Tensor, shape (n_points, n_features)
        Standardised test inputs.
    with_communication : bool
        Whether rules need the communication expert's moments, or augmented experts.

    Attributes
    ----------
    context : Context
    """

    def __init__(self, committee: Committee, factors: Factors, x: Tensor, with_communication: bool) -> None:
        self._committee = committee
        self._factors = factors
        self._x = x
        self._scratch = Scratch()
        prior = committee.prior_variance(x)
        known = [factors.communication, factors.communication_in_double] if with_communication else []
        self._projections: Mapping[torch.dtype, Projection] = {
            factor.lower.dtype: project(committee, factor, x, prior) for factor in known if factor is not None
        }
        own = self._projections.get(factors.communication.lower.dtype)
        moments = None if own is None else moments_as(x.dtype, own.moments)
        self.context = Context(prior, moments, committee.noise_variance)

    def moments(self, expert: int) -> Mapping[Experts, Moments]:
        """Moments of one expert in each form that has a factor; the communication expert's projection serves both."""
        found: dict[Experts, Moments] = {}
        prior, communication = self.context.prior_variance, self.context.communication
        if expert == 0 and communication is not None:
            found[Experts.BASE] = communication
        elif expert in self._factors.base:
            factor = self._factors.base[expert]
            found[Experts.BASE] = base_moments(self._committee, factor, self._x, prior, self._scratch)
        if expert in self._factors.augmented:
            augmented = self._factors.augmented[expert]
            projection = self._projections[augmented.lower.dtype]
            found[Experts.AUGMENTED] = augmented_moments(
                self._committee, augmented, projection, self._x, prior, self._scratch
            )
        return found
