"""Compressed experts against the experts themselves, and what their errors may change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from committees import identity_scaling
from gpcommittee.aggregation import BCM, GRBCM, RBCM, AdditiveRule, Context, Experts, Reference
from gpcommittee.aggregation.rule import term_of
from gpcommittee.engines import SerialEngine
from gpcommittee.experts import Committee
from gpcommittee.prediction import FactorStore, predict_rules
from gpcommittee.prediction.boxes import boxes_around, distances
from gpcommittee.prediction.reference_view import evaluated_moments, view
from gpcommittee.prediction.selection import as_columns
from gpcommittee.prediction.tolerance.by_distance import N_STEPS, largest_beyond, pooled, step_of
from gpcommittee.prediction.tolerance.certainty import Extent, doubt
from gpcommittee.prediction.tolerance.compressing import far_field
from gpcommittee.prediction.tolerance.compression import Elsewhere, Largest, compress, outside
from gpcommittee.prediction.tolerance.far_field import FarField
from gpcommittee.progress import SilentReporter
from gpcommittee.records import FloatArray, Moments
from gpcommittee.scratch import Scratch
from smooth_committees import committee_on, make_committee, points

RULES: list[AdditiveRule] = [GRBCM(), GRBCM(level="observation"), RBCM(), BCM()]


def compressed(committee: Committee, rule: AdditiveRule) -> tuple[FarField, FactorStore]:
    store = FactorStore(committee, 1e9, calibrated=True)
    return far_field(rule, store, SerialEngine(), SilentReporter()), store


def means(committee: Committee, x: FloatArray, tolerance: float) -> FloatArray:
    store, scaling = FactorStore(committee, 1e9), identity_scaling(x.shape[1])
    rules, silent = [GRBCM()], SilentReporter()
    [found] = predict_rules(store, scaling, x, rules, SerialEngine(), silent, tolerance=tolerance)
    return found.mean


@dataclass(frozen=True)
class Compared:
    """Compressed experts and the experts at some points where the first are known: errors, and how far they may be off.

    Attributes
    ----------
    known : Tensor of bool, shape (n_points, n_experts)
    gain, shift : Tensor, shape (n_known,)
        Errors as shares of the reference's variance and standard deviation.
    table : tuple of Tensor, shape (n_known,)
        The largest of either that were seen so far away.
    off : tuple of Tensor, shape (n_known,)
        How far either may be off.
    """

    known: torch.Tensor
    gain: torch.Tensor
    shift: torch.Tensor
    table: tuple[torch.Tensor, torch.Tensor]
    off: tuple[torch.Tensor, torch.Tensor]


def compared(committee: Committee, rule: AdditiveRule, x: torch.Tensor) -> Compared:
    field, store = compressed(committee, rule)
    at = view(committee, rule.reference, store.communication(SerialEngine()), x)
    numbers, boxes = np.arange(len(field.experts)), boxes_around(committee)
    said = field.says(committee, at, numbers, Scratch())
    factors = store.of_kind(rule.experts, field.experts.tolist(), SerialEngine())
    moments = [evaluated_moments(committee, factors[expert], at, Scratch()) for expert in field.experts.tolist()]
    np.testing.assert_allclose(field.log_dispersion, [np.log(m.dispersion) for m in moments])
    means, variances = (
        torch.stack(each, dim=1) for each in zip(*((m.mean, m.var_latent) for m in moments), strict=True)
    )
    reference = at.reference.var_latent[:, None]
    steps = step_of(distances(boxes, field.experts, x.numpy() / boxes.scales))
    table = tuple(torch.from_numpy(values[numbers, steps]) for values in (field.errors.gain, field.errors.shift))
    known = table[0].isfinite()
    off = field.off(said, numbers, steps, reference)
    return Compared(
        known,
        ((torch.minimum(said.gain, reference) - (reference - variances)).abs() / reference)[known],
        ((said.shift - (means - at.reference.mean[:, None])).abs() / reference.sqrt())[known],
        (table[0][known], table[1][known]),
        ((off[0] / reference)[known], (off[1] / reference.sqrt())[known]),
    )


@pytest.mark.parametrize("rule", [GRBCM(), RBCM()], ids=str)
@pytest.mark.parametrize(("kernel", "usual"), [("squared_exponential", 1e-3), ("matern12", 1e-2)])
def test_compressed_experts_say_what_the_experts_say(rule: AdditiveRule, kernel: str, usual: float) -> None:
    committee = make_committee(40, 60, kernel=kernel, lengthscale=0.5)
    found = compared(committee, rule, torch.from_numpy(points(200)))
    assert float(found.known.double().mean()) > 0.2
    for error in (found.gain, found.shift):
        assert float(error.median()) <= usual
        assert float(error.max()) <= 0.05


@pytest.mark.parametrize("rule", [GRBCM(), RBCM()], ids=str)
def test_half_of_the_rows_tell_where_a_point_is_like_no_other(rule: AdditiveRule) -> None:
    generator = np.random.default_rng(0)
    X, x = (generator.standard_t(2, (n, 5)) for n in (3000, 400))
    committee = committee_on(X, "tree", n_experts=30, kernel="matern32", lengthscale=3.0, noise=1e-3)
    found = compared(committee, rule, torch.from_numpy(x))
    for error, table, off in zip((found.gain, found.shift), found.table, found.off, strict=True):
        assert (off >= table * (1 - 1e-12)).all()
        missed, still_missed = (float((error > 4 * largest).double().mean()) for largest in (table, off))
        assert missed > 0.003
        assert still_missed < missed / 2


def test_where_all_boxes_overlap_no_expert_is_compressed() -> None:
    committee = make_committee(60, 25, partition="random")
    field, _ = compressed(committee, GRBCM())
    surely = np.isfinite(field.errors.gain[:, 0])
    assert not surely.any()
    x = points(60)
    np.testing.assert_allclose(means(committee, x, 0.1), means(committee, x, 0.0), rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kernel", ["squared_exponential", "matern12", "matern52"])
@pytest.mark.parametrize("lengthscale", [1e-4, 1e-3, 1e3, 1e5])
def test_experts_that_see_nothing_of_each_other_or_all(kernel: str, lengthscale: float) -> None:
    committee = make_committee(60, 25, kernel=kernel, lengthscale=lengthscale)
    x = points(60)
    np.testing.assert_allclose(means(committee, x, 1e-3), means(committee, x, 0.0), atol=1e-5)


def test_all_rows_in_one_place_are_summed_in_full() -> None:
    committee = committee_on(np.full((300, 2), 0.5), "random", n_experts=60, lengthscale=0.3, noise=1e-2)
    x = np.concatenate([points(30), np.full((3, 2), 0.5)])
    np.testing.assert_allclose(means(committee, x, 1e-3), means(committee, x, 0.0), rtol=1e-6, atol=1e-8)


VALUES = st.lists(st.tuples(st.floats(0, 1e3), st.floats(0, 1e6)), min_size=1, max_size=30)


@given(VALUES)
def test_no_value_at_a_distance_or_beyond_exceeds_the_largest(pairs: list[tuple[float, float]]) -> None:
    values, squares = (np.array(column) for column in zip(*pairs, strict=True))
    found = largest_beyond(values, squares)
    steps = step_of(squares)
    assert (found[steps] >= values).all()
    assert np.isinf(found[0])
    finite = found[np.isfinite(found)]
    assert (np.diff(finite) <= 0).all()
    assert (np.diff(step_of(np.sort(squares))) >= 0).all()


def test_nothing_known_is_not_trusted_and_little_not_below_the_usual() -> None:
    nothing = largest_beyond(np.empty(0), np.empty(0))
    assert np.isinf(nothing).all()
    table = np.stack([np.full(N_STEPS, value) for value in (0.0, 1.0, 3.0)] + [nothing])
    np.testing.assert_array_equal(pooled(table, np.full(4, 7))[:, 3], [1.0, 1.0, 3.0, np.inf])
    np.testing.assert_array_equal(pooled(table, np.array([1, 1, 40, 1]))[:, 3], [3.0, 3.0, 3.0, np.inf])


@pytest.mark.parametrize("rows", [1, 3, 8])
def test_experts_that_too_few_rows_cannot_stand_for_are_not_compressed(rows: int) -> None:
    committee = make_committee(30, 20, kernel="matern12", lengthscale=0.3)
    store = FactorStore(committee, 1e9)
    factor = store.of_kind(Experts.BASE, [5], SerialEngine())[5]
    points = view(committee, Reference.PRIOR, store.communication(SerialEngine()), committee.X)
    elsewhere = Elsewhere(points, committee.X.numpy() / store.boxes.scales)
    seen, checks = outside(elsewhere, store.boxes, 5)
    assert compress(committee, factor, seen, checks, rows) is None
    assert compress(committee, factor, seen, checks, 20) is not None


def context_of(rule: AdditiveRule, variance: float, noise: float) -> Context:
    reference = torch.tensor([variance], dtype=torch.float64)
    communication = Moments(torch.zeros_like(reference), reference)
    shared = rule.reference is Reference.COMMUNICATION
    return Context(reference if not shared else 2 * reference, communication if shared else None, noise)


Sign = Literal[-1, 1]


@given(
    st.sampled_from(RULES),
    st.floats(1e-4, 10.0),
    st.floats(1e-6, 1.0),
    st.floats(0.0, 0.9),
    st.floats(-2.0, 2.0),
    st.floats(0.0, 0.05),
    st.floats(0.0, 0.5),
    st.sampled_from([-1, 1]),
)
def test_doubt_covers_what_errors_change(
    rule: AdditiveRule, variance: float, noise: float, gain: float, shift: float, more: float, off: float, sign: Sign
) -> None:
    context = as_columns(context_of(rule, variance, noise))
    reference = torch.tensor([[variance]], dtype=torch.float64)

    def column(value: float, unit: float) -> torch.Tensor:
        return torch.tensor([[value * unit]], dtype=torch.float64)

    said = column(gain, variance), column(shift, variance**0.5)
    true = column(gain + more, variance), column(shift + sign * off, variance**0.5)
    errors = column(more, variance), column(off, variance**0.5)
    found = doubt(rule, context, reference, said, errors)
    before, after = (term_of(rule, moved, reference - taken, 0.0, 0.0, context, -1) for taken, moved in (said, true))
    precision = after.weight * after.precision - before.weight * before.precision
    weighted = after.weight * after.shift - before.weight * before.shift
    slack = 1e-9 * (1 + float((after.weight * after.precision).abs() + (after.weight * after.shift).abs()))
    assert float(precision.abs()) <= float(found.precision) + slack
    assert float(weighted.abs()) <= float(found.shift) + slack


@given(st.sampled_from(RULES), st.floats(1e-3, 10.0), st.floats(1e-6, 1.0), st.floats(1e-6, 0.95), st.floats(0.0, 2.0))
def test_an_extent_covers_an_expert_at_any_level_and_variance(
    rule: AdditiveRule, variance: float, noise: float, gain: float, shift: float
) -> None:
    extent = Extent.of(rule, Largest(np.full((1, N_STEPS), gain), np.full((1, N_STEPS), shift)))
    precision, weighted = extent.at(np.array([3], dtype=np.int8))
    context = as_columns(context_of(rule, variance, noise))
    reference = torch.tensor([[variance]], dtype=torch.float64)
    term = term_of(rule, shift * reference.sqrt(), (1 - gain) * reference, 0.0, 0.0, context, -1)
    at_level = float(rule.at_level(reference, context))
    assert float(term.weight * term.precision) * at_level <= precision[0] * (1 + 1e-9)
    assert float(term.weight * term.shift) * at_level / variance**0.5 <= weighted[0] * (1 + 1e-9)
