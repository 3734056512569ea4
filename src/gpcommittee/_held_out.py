"""What every rule says of rows that are held out of the committee, and what follows for the fit.

Some rows are taken out of their experts, the rules predict them in one pass, and they go back. The partition and the
hyperparameters are those of all rows: a few numbers, learned on all experts, which favour no rule over another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from gpcommittee.aggregation import NPAE, RULES, AdditiveRule, Rule
from gpcommittee.engines import Engine
from gpcommittee.experts.held_out import FACTORS_AT_ONCE, FEWEST, held_out_rows, without
from gpcommittee.metrics import ScoreReport, score_report
from gpcommittee.prediction import FactorStore, predict_rules
from gpcommittee.progress import Reporter, UnderName
from gpcommittee.records import FloatArray, Prediction, Standardisation

AUTO = "auto"

PREFERRED = "grbcm"
"""The rule where too few rows can be held out, and of rules that are equally good."""

CANDIDATES = tuple(
    sorted((name for name, rule in RULES.items() if isinstance(rule, AdditiveRule)), key=lambda name: name != PREFERRED)
)
"""Every rule that one pass over the experts can serve, the preferred one first."""

HELD_OUT_STAGE = "predict held-out rows"

DIGITS = 6
"""Decimals of a score, in nats, that count: where rules coincide, rounding must not choose."""

SCALE_PRIOR_ROWS = 50.0
"""Rows with errors as large as stated that are counted beside those held out: squares of a hundred errors average to 1
within a fifth at best, and the scale of a committee is seldom off by more than twice."""


def is_auto(aggregation: object) -> bool:
    """Whether a setting leaves the rule to the held-out rows."""
    return isinstance(aggregation, str) and aggregation == AUTO


@dataclass(frozen=True)
class HeldOut:
    """Rows that were held out, and what rules say of them, in the target's units.

    Attributes
    ----------
    target : ndarray, shape (n_held_out,)
    predictions : mapping of Rule to Prediction
    """

    target: FloatArray
    predictions: Mapping[Rule, Prediction]


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


def predict_held_out(
    store: FactorStore,
    scaling: Standardisation,
    rules: Sequence[Rule],
    engine: Engine,
    reporter: Reporter,
) -> HeldOut | None:
    """Predictions of rows that are held out of the committee; None where there are too few.

    Parameters
    ----------
    store : FactorStore
        Of the committee; its settings apply, its factors are not used.
    scaling : Standardisation
    rules : sequence of Rule
    engine : Engine
    reporter : Reporter

    Raises
    ------
    NotPositiveDefiniteError
        If the covariance of an expert without its held-out rows cannot be factored.
    MemoryBudgetError
        If NPAE is among the rules and does not fit the memory budget.
    """
    committee = store.committee
    held = held_out_rows(committee.offsets)
    if len(held) < FEWEST:
        return None
    nested = any(isinstance(rule, NPAE) for rule in rules)
    budget = store.budget if nested else min(store.budget, FACTORS_AT_ONCE)
    store = FactorStore(without(committee, held), budget, store.calibrated)
    x, y = committee.X[held].double().numpy(force=True), committee.y[held].double().numpy(force=True)
    reporter = UnderName(reporter, HELD_OUT_STAGE)
    predictions = predict_rules(store, inputs_as_they_are(scaling), x, rules, engine, reporter)
    return HeldOut(scaling.y_mean + scaling.y_scale * y, dict(zip(rules, predictions, strict=True)))


def inputs_as_they_are(scaling: Standardisation) -> Standardisation:
    """A scaling for inputs that are standardised already; predictions come out in the target's units."""
    return replace(scaling, x_mean=np.zeros_like(scaling.x_mean), x_scale=np.ones_like(scaling.x_scale))


def variance_scales(held: HeldOut) -> dict[Rule, float]:
    """By rule, the factor that makes its errors at the held-out rows as large as it says.

    The mean squared standardised error, drawn towards 1 as by ``SCALE_PRIOR_ROWS`` more rows.

    Parameters
    ----------
    held : HeldOut
    """
    scales = {}
    for rule, found in held.predictions.items():
        squares = (held.target - found.mean) ** 2 / cast(FloatArray, found.var_noisy)
        scales[rule] = (float(squares.sum()) + SCALE_PRIOR_ROWS) / (len(squares) + SCALE_PRIOR_ROWS)
    return scales


def choose_rule(held: HeldOut | None, scales: Mapping[Rule, float], scaling: Standardisation) -> ChosenRule:
    """The candidate with the least mean standardised log loss on the held-out rows.

    Parameters
    ----------
    held : HeldOut or None
        With predictions of every candidate; None leaves it at the preferred rule.
    scales : mapping of Rule to float
        Of predicted variances; 1 where a rule is not in it.
    scaling : Standardisation

    Returns
    -------
    ChosenRule
    """
    if held is None:
        return ChosenRule(PREFERRED, {})
    constant, scores = bool((held.target == scaling.y_mean).all()), {}
    for name in CANDIDATES:
        found = held.predictions[RULES[name]]
        variance = cast(FloatArray, found.var_noisy) * scales.get(RULES[name], 1.0)
        scores[name] = score_report(
            held.target,
            found.mean,
            np.sqrt(variance),
            y_train_mean=scaling.y_mean,
            y_train_var=0.0 if constant else scaling.y_scale**2,
        )
    return ChosenRule(min(CANDIDATES, key=lambda name: round(scores[name].nlpd, DIGITS)), scores)
