"""The rule for ``aggregation="auto"``: the one that predicts held-out rows best.

Some rows are taken out of their experts, every rule predicts them in one pass, and they go back. The partition and the
hyperparameters are those of all rows: a few numbers, learned on all experts, which favour no rule over another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from gpcommittee.aggregation import RULES, AdditiveRule
from gpcommittee.engines import Engine
from gpcommittee.experts import Committee
from gpcommittee.metrics import ScoreReport, score_report
from gpcommittee.prediction import FactorStore, predict_rules
from gpcommittee.progress import Reporter
from gpcommittee.records import FloatArray, IntArray, Standardisation

AUTO = "auto"

PREFERRED = "grbcm"
"""The rule where too few rows can be held out, and of rules that are equally good."""

CANDIDATES = tuple(
    sorted((name for name, rule in RULES.items() if isinstance(rule, AdditiveRule)), key=lambda name: name != PREFERRED)
)
"""Every rule that one pass over the experts can serve, the preferred one first."""

SHARE, MOST, FEWEST = 0.1, 1000, 10
"""Rows held out: a tenth, so that experts hardly know less; at most a thousand, which tell rules apart to about a
hundredth of a nat; with fewer than ten, nothing is chosen."""

DIGITS = 6
"""Decimals of a score, in nats, that count: where rules coincide, rounding must not choose."""


def is_auto(aggregation: object) -> bool:
    """Whether a setting leaves the rule to the held-out rows."""
    return isinstance(aggregation, str) and aggregation == AUTO


@dataclass(frozen=True)
class ChosenRule:
    """What was chosen, and why.

    Attributes
    ----------
    name : str
    scores : mapping of str to ScoreReport
        Of every candidate on the held-out rows, in the target's units; empty where no rows could be held out.
    """

    name: str
    scores: Mapping[str, ScoreReport]


def choose_rule(
    store: FactorStore, scaling: Standardisation, seed: int, engine: Engine, reporter: Reporter
) -> ChosenRule:
    """The candidate with the least mean standardised log loss on rows held out of the committee.

    Parameters
    ----------
    store : FactorStore
        Of the committee; its settings apply to the choice, its factors are not used.
    scaling : Standardisation
    seed : int
        Decides which rows are held out.
    engine : Engine
    reporter : Reporter

    Returns
    -------
    ChosenRule

    Raises
    ------
    NotPositiveDefiniteError
        If the covariance of an expert without its held-out rows cannot be factored.
    """
    committee = store.committee
    held = held_out_rows(committee.offsets, seed)
    if len(held) < FEWEST:
        return ChosenRule(PREFERRED, {})
    store = FactorStore(without(committee, held), store.budget, store.calibrated)
    x, y = committee.X[held].double().numpy(force=True), committee.y[held].double().numpy(force=True)
    as_it_is = replace(scaling, x_mean=np.zeros(x.shape[1]), x_scale=np.ones(x.shape[1]))
    predictions = predict_rules(store, as_it_is, x, [RULES[name] for name in CANDIDATES], engine, reporter)
    target, variance = scaling.y_mean + scaling.y_scale * y, scaling.y_scale**2 if bool(committee.y.any()) else 0.0
    scores = {
        name: score_report(
            target,
            prediction.mean,
            np.sqrt(cast(FloatArray, prediction.var_noisy)),
            y_train_mean=scaling.y_mean,
            y_train_var=variance,
        )
        for name, prediction in zip(CANDIDATES, predictions, strict=True)
    }
    best = min(CANDIDATES, key=lambda name: round(scores[name].nlpd, DIGITS))
    reporter.message(f"Chose {best} among {len(scores)} rules by {len(held):,} held-out rows.")
    return ChosenRule(best, scores)


def held_out_rows(offsets: IntArray, seed: int) -> IntArray:
    """Rows of a committee to hold out, at random, ascending; every expert keeps at least one.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n_experts + 1,)
    seed : int

    Returns
    -------
    ndarray of int64, shape (n_held_out,)
    """
    n_rows = int(offsets[-1])
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(3,)))
    order = generator.permutation(n_rows)
    experts = np.searchsorted(offsets, order, side="right")
    free = np.delete(order, np.unique(experts, return_index=True)[1])
    held: IntArray = np.sort(free[: min(MOST, int(SHARE * n_rows))])
    return held


def without(committee: Committee, held: IntArray) -> Committee:
    """A committee whose experts lack some rows."""
    keep = np.ones(int(committee.offsets[-1]), dtype=bool)
    keep[held] = False
    kept = np.concatenate([np.zeros(1, dtype=np.int64), keep.cumsum()])
    rows = np.flatnonzero(keep)
    return replace(committee, X=committee.X[rows], y=committee.y[rows], offsets=kept[committee.offsets])
