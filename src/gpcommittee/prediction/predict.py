"""Predictions of any rules at the same test points, in the target's units."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpcommittee.aggregation import NPAE, AdditiveRule, Experts, Neighbourhood, Reference, Rule
from gpcommittee.data import restore_mean, restore_variance
from gpcommittee.engines import Engine
from gpcommittee.experts import base_mean
from gpcommittee.prediction.factors import FactorStore
from gpcommittee.prediction.neighbourhood import blended_moments
from gpcommittee.prediction.npae import npae_moments
from gpcommittee.prediction.request import Request, StandardMoments
from gpcommittee.prediction.stream import CHUNK, additive_moments
from gpcommittee.progress import Reporter
from gpcommittee.records import FloatArray, Prediction, Standardisation


def predict_rules(
    store: FactorStore,
    scaling: Standardisation,
    X: FloatArray,
    rules: Sequence[Rule],
    engine: Engine,
    reporter: Reporter,
    *,
    mean_only: bool = False,
) -> list[Prediction]:
    """Predictions of several rules at the same test points.

    Parameters
    ----------
    store : FactorStore
        Of the fitted committee.
    scaling : Standardisation
    X : ndarray, shape (n_points, n_features)
        Test inputs in their original units.
    rules : sequence of Rule
    engine : Engine
    reporter : Reporter
    mean_only : bool
        Leave out the variances, and the work that only they need.

    Returns
    -------
    list of Prediction
        One per rule, in their order, in the target's units.

    Raises
    ------
    NotPositiveDefiniteError
        If an expert's covariance cannot be factored.
    MemoryBudgetError
        If NPAE is asked for and does not fit the memory budget.
    """
    request = Request(store.committee, scaling, X)
    if mean_only and mean_is_communication(rules, store.committee.n_experts):
        return [communication_mean(request, store, engine)] * len(rules)
    moments = _moments(rules, request, store, engine, reporter, mean_only)
    return [in_target_units(one, store.committee.noise_variance, scaling, mean_only) for one in moments]


def scaled(prediction: Prediction, scale: float) -> Prediction:
    """The same with its variances multiplied by a number."""
    if prediction.var_latent is None or prediction.var_noisy is None:
        return prediction
    return Prediction(prediction.mean, scale * prediction.var_latent, scale * prediction.var_noisy)


def _moments(
    rules: Sequence[Rule],
    request: Request,
    store: FactorStore,
    engine: Engine,
    reporter: Reporter,
    mean_only: bool,
) -> list[StandardMoments]:
    """Moments of every rule, each family in its own pass."""
    found: dict[int, StandardMoments] = {}
    for i, rule in enumerate(rules):
        if isinstance(rule, Neighbourhood):
            leaves = store.neighbourhood(rule)
            found[i] = blended_moments(rule.blend, request, leaves, engine, reporter, mean_only=mean_only)
            store.note(leaves)
    nested = {i: rule for i, rule in enumerate(rules) if isinstance(rule, NPAE)}
    additive = {i: rule for i, rule in enumerate(rules) if isinstance(rule, AdditiveRule)}
    if nested:
        found.update(zip(nested, npae_moments(list(nested.values()), request, store, engine, reporter), strict=True))
    if additive:
        found.update(
            zip(additive, additive_moments(list(additive.values()), request, store, engine, reporter), strict=True)
        )
    return [found[i] for i in range(len(rules))]


def mean_is_communication(rules: Sequence[Rule], n_experts: int) -> bool:
    """Whether the mean of all rules is the communication expert's, which takes no variance."""
    alone = all(rule.experts is Experts.NONE for rule in rules) or n_experts == 1
    return alone and all(rule.reference is Reference.COMMUNICATION for rule in rules)


def communication_mean(request: Request, store: FactorStore, engine: Engine) -> Prediction:
    """The communication expert's mean at all points of a request, in the target's units."""
    factor = store.communication(engine)
    means = engine.map(lambda chunk: base_mean(request.committee, factor, request.points(chunk)), request.chunks(CHUNK))
    mean = np.concatenate([np.empty(0), *(part.double().cpu().numpy() for part in means)])
    return Prediction(restore_mean(mean, request.scaling), None, None)


def in_target_units(
    moments: StandardMoments, noise: float, scaling: Standardisation, mean_only: bool = False
) -> Prediction:
    """Moments in standardised units as a prediction in the target's, its variances calibrated or left out.

    Parameters
    ----------
    moments : StandardMoments
    noise : float
        Noise variance on a target of variance 1.
    scaling : Standardisation
    mean_only : bool

    Returns
    -------
    Prediction
    """
    mean, var_latent, dispersion, relative_noise = moments
    if mean_only:
        return Prediction(restore_mean(mean, scaling), None, None)
    return Prediction(
        restore_mean(mean, scaling),
        restore_variance(dispersion * var_latent, scaling),
        restore_variance(dispersion * _noisy(var_latent, noise, relative_noise), scaling),
    )


def _noisy(var_latent: FloatArray, noise: float, relative_noise: FloatArray) -> FloatArray:
    """Variance of an observation; a share of its noise where a rule promises less than the noise."""
    noisy: FloatArray = np.where(
        var_latent < 0, relative_noise * (var_latent + noise), var_latent + relative_noise * noise
    )
    return noisy
