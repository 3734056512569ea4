"""What every rule says of rows that are held out of the committee, and what follows for the fit.

Some rows are taken out of their experts, the rules predict them in one pass, and they go back. The partition and the
hyperparameters are those of all rows: a few numbers, learned on all experts, which favour no rule over another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from gpcommittee.aggregation import NPAE, RULES, AdditiveRule, Neighbourhood, Rule
from gpcommittee.engines import Engine
from gpcommittee.experts.held_out import FACTORS_AT_ONCE, FEWEST, held_out_rows, without
from gpcommittee.metrics import ScoreReport, score_report
from gpcommittee.prediction import FactorStore, predict_rules
from gpcommittee.prediction.neighbourhood import leave_one_out, left_out_rows
from gpcommittee.progress import Reporter, UnderName
from gpcommittee.records import FloatArray, Prediction, Standardisation

AUTO = "auto"

CANDIDATES = (
    "neighbourhood",
    "grbcm",
    *(name for name, rule in RULES.items() if isinstance(rule, AdditiveRule) and name != "grbcm"),
)
"""Rules that are compared, those first that are preferred where they are equal or too few rows can be held out."""

HELD_OUT_STAGE = "predict held-out rows"

LEFT_OUT_STAGE = "predict left-out rows"

DIGITS = 6
"""Decimals of a score, in nats, that count: where rules coincide, rounding must not choose."""

SCALE_PRIOR_ROWS = 50.0
"""Rows with errors as large as stated that are counted beside those held out: squares of a hundred errors average to 1
within a fifth at best, and the scale of a committee is seldom off by more than twice."""


def is_auto(aggregation: object) -> bool:
    """Whether a setting leaves the rule to the held-out rows."""
    return isinstance(aggregation, str) and aggregation == AUTO


def candidates(partition: object) -> tuple[str, ...]:
    """Names of the rules that are compared for a partition, given as its name or as labels."""
    return CANDIDATES if suits(RULES["neighbourhood"], partition) else CANDIDATES[1:]


def suits(rule: Rule, partition: object) -> bool:
    """Whether a rule can predict from a partition: neighbourhoods need experts of neighbouring rows."""
    return not isinstance(rule, Neighbourhood) or not (isinstance(partition, str) and partition == "random")


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
    return {
        rule: drawn_to_one((held.target - found.mean) ** 2 / cast(FloatArray, found.var_noisy))
        for rule, found in held.predictions.items()
    }


def left_out_scale(store: FactorStore, rule: Neighbourhood, engine: Engine, reporter: Reporter) -> float:
    """The factor that makes a rule's errors at training rows, each left out, as large as it says.

    Parameters
    ----------
    store : FactorStore
        Of the committee; the factors that are made stay for predictions, as far as its budget goes.
    rule : Neighbourhood
    engine : Engine
    reporter : Reporter

    Raises
    ------
    NotPositiveDefiniteError
        If an expert's covariance cannot be factored.
    """
    experts, committee = store.neighbourhood(rule), store.committee
    rows = left_out_rows(experts.leaves)
    if len(rows) < FEWEST:
        return 1.0
    moments = leave_one_out(rule.blend, experts, rows, engine, UnderName(reporter, LEFT_OUT_STAGE))
    store.note(experts)
    target = committee.y[experts.leaves.numbers[rows]].double().cpu().numpy()
    mean, variance, _, noise = moments
    return drawn_to_one((target - mean) ** 2 / (variance + noise * committee.noise_variance))


def drawn_to_one(squares: FloatArray) -> float:
    """Mean of squared standardised errors, drawn towards 1 as by ``SCALE_PRIOR_ROWS`` more of them."""
    return (float(squares.sum()) + SCALE_PRIOR_ROWS) / (len(squares) + SCALE_PRIOR_ROWS)


def choose_rule(
    names: Sequence[str], held: HeldOut | None, scales: Mapping[Rule, float], scaling: Standardisation
) -> ChosenRule:
    """The candidate with the least mean standardised log loss on the held-out rows.

    Parameters
    ----------
    names : sequence of str
        Of the candidates, the preferred one first.
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
        return ChosenRule(names[0], {})
    constant, scores = bool((held.target == scaling.y_mean).all()), {}
    for name in names:
        found = held.predictions[RULES[name]]
        variance = cast(FloatArray, found.var_noisy) * scales.get(RULES[name], 1.0)
        scores[name] = score_report(
            held.target,
            found.mean,
            np.sqrt(variance),
            y_train_mean=scaling.y_mean,
            y_train_var=0.0 if constant else scaling.y_scale**2,
        )
    return ChosenRule(min(names, key=lambda name: round(scores[name].nlpd, DIGITS)), scores)
