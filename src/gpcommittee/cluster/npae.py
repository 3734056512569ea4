"""NPAE over all experts on a cluster: every task takes the pairs of two shards' experts at a chunk of test points.

What an expert sees of the chunk stays with its shard; two of these and the rows of both shards give the covariances of
their experts' means (Eq. 7 of the paper), and one task per chunk puts all together and solves (Eq. 8). N^2 flops per
test point, as on one machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from gpcommittee.aggregation import NPAE, Aggregate, Experts, combine
from gpcommittee.cluster.predict import Answer, Numerics
from gpcommittee.cluster.sharded import ShardedRows
from gpcommittee.cluster.worker import Model, Rows, engine_on
from gpcommittee.errors import MemoryBudgetError
from gpcommittee.experts import Committee
from gpcommittee.prediction import FactorStore, Request
from gpcommittee.prediction.npae import (
    CHUNK_SHARE,
    LARGEST_CHUNK,
    MATRICES_OF_EXPERTS,
    SMALLEST_CHUNK,
    View,
    covariance_of_pair,
    scales_of,
    view_of,
)
from gpcommittee.prediction.predict import in_target_units
from gpcommittee.prediction.request import empty_moments, write_moments
from gpcommittee.records import FloatArray, IntArray, Shard

if TYPE_CHECKING:
    from distributed import Future

EXPERTS_PER_TASK = 16
"""Experts of one group; a task takes the pairs of two groups."""


@dataclass(frozen=True)
class Seen:
    """What some experts say of a chunk of test points.

    Attributes
    ----------
    means, variances : ndarray, shape (n_points, n_experts)
    dispersions : list of float
    numerics : Numerics
    """

    means: FloatArray
    variances: FloatArray
    dispersions: list[float]
    numerics: Numerics


@dataclass(frozen=True)
class Group:
    """Experts of one group on a worker: W' of each at a chunk of test points, and its rows.

    Attributes
    ----------
    weights : list of ndarray, each of shape (n_points, m_i)
    inputs : list of ndarray, each of shape (m_i, n_features)
    seen : Seen
    """

    weights: list[FloatArray]
    inputs: list[FloatArray]
    seen: Seen

    def __sizeof__(self) -> int:
        """Bytes, by which Dask decides what to move."""
        return sum(array.nbytes for array in (*self.weights, *self.inputs))


def submit_npae(
    rows: ShardedRows, model: Future[Any], rules: Sequence[NPAE], X: FloatArray | Future[Any], mean_only: bool
) -> Future[Any]:
    """Start the prediction of a chunk.

    Parameters
    ----------
    rows : ShardedRows
    model : Future of Model
        In a precision in which every expert can be factored: ``in_one_precision``.
    rules : sequence of NPAE
    X : ndarray, shape (n_points, n_features), or Future of one
        At least one point, in original units.
    mean_only : bool

    Returns
    -------
    Future of Answer
    """
    cluster = rows.cluster
    points = cluster.kept("points", X)
    groups = [
        cluster.submit("npae", about, _group, model, points, rows.communication, *unit) for about, *unit in _units(rows)
    ]
    seen = [cluster.submit("npae-seen", "experts", _seen, group) for group in groups]
    pairs = list(combinations_with_replacement(range(len(groups)), 2))
    blocks = [cluster.submit("npae-pairs", "pairs of experts", _block, model, groups[i], groups[j]) for i, j in pairs]
    return cluster.submit(
        "npae-finish", "all experts", _finished, model, list(rules), mean_only, points, pairs, len(seen), *seen, *blocks
    )


def in_one_precision(rows: ShardedRows, model: Model) -> Model:
    """The model in float64 where float32 cannot factor an expert: rounding errors would pass for information.

    Parameters
    ----------
    rows : ShardedRows
    model : Model
    """
    if model.kernel.dtype == torch.float64:
        return model
    cluster = rows.cluster
    kept = cluster.keep("model", model)
    asked = [
        cluster.submit("factor", about, _is_sound, kept, rows.communication, *unit) for about, *unit in _units(rows)
    ]
    return model if all(cluster.results(asked)) else model.in_double()


def chunk_size(sizes: IntArray, itemsize: int, budget: float) -> int:
    """Test points of a chunk, a power of two: the most that a worker can put together in its share of the budget.

    Parameters
    ----------
    sizes : ndarray of int64, shape (n_experts,)
        Rows of each expert.
    itemsize : int
    budget : float
        Bytes that one task may take.

    Raises
    ------
    MemoryBudgetError
        If even the smallest chunk does not fit.
    """
    size = LARGEST_CHUNK
    while size > SMALLEST_CHUNK and _chunk_bytes(sizes, itemsize, size) > CHUNK_SHARE * budget:
        size //= 2
    needed = _chunk_bytes(sizes, itemsize, size)
    if needed > budget:
        raise MemoryBudgetError(
            f"NPAE needs {needed / 2**30:.3g} GiB on one worker for {len(sizes)} experts and {size} test points; the "
            f"budget is {budget / 2**30:.3g} GiB. Raise memory_budget, give workers more memory, use fewer experts or "
            "another aggregation: GRBCM streams over experts."
        )
    return size


def _chunk_bytes(sizes: IntArray, itemsize: int, n_points: int) -> float:
    """Of two groups with factors, and of what is put together."""
    largest = float(sizes.max())
    groups = 2 * EXPERTS_PER_TASK * largest * (n_points + largest)
    return itemsize * (groups + MATRICES_OF_EXPERTS * float(len(sizes)) ** 2 * n_points)


def _units(rows: ShardedRows) -> list[tuple[Any, ...]]:
    """The communication expert, then all others."""
    own: tuple[Any, ...] = ("the communication expert",)
    return [own, *((unit.about, unit.shard, (unit.first, unit.stop)) for unit in rows.units(EXPERTS_PER_TASK))]


def _committee(
    model: Model, communication: Rows, shard: Shard | None, experts: tuple[int, int] | None
) -> tuple[Committee, range]:
    """A committee and those of its experts that a task is about."""
    committee = model.committee(communication, shard, experts)
    return committee, range(1) if shard is None else range(1, committee.n_experts)


def _is_sound(
    model: Model, communication: Rows, shard: Shard | None = None, experts: tuple[int, int] | None = None
) -> bool:
    """Whether the committee's own precision can factor these experts."""
    committee, numbers = _committee(model, communication, shard, experts)
    store = FactorStore(committee, 0.0)
    loaded = store.load(frozenset({Experts.BASE}), numbers, engine_on(model.device)).base
    return all(loaded[number].lower.dtype == committee.kernel.dtype for number in numbers)


def _group(
    model: Model,
    X: FloatArray,
    communication: Rows,
    shard: Shard | None = None,
    experts: tuple[int, int] | None = None,
) -> Group:
    committee, numbers = _committee(model, communication, shard, experts)
    store = FactorStore(committee, 0.0, model.calibrated)
    loaded = store.load(frozenset({Experts.BASE}), numbers, engine_on(model.device)).base
    factors = [loaded[number] for number in numbers]
    with torch.no_grad():
        view = view_of(committee, factors, Request(committee, model.scaling, X).points(slice(None)))
    seen = Seen(
        view.means.cpu().numpy(),
        view.variances.cpu().numpy(),
        [factor.dispersion for factor in factors],
        Numerics.of(store),
    )
    return Group([w.cpu().numpy() for w in view.weights], [factor.X.cpu().numpy() for factor in factors], seen)


def _seen(group: Group) -> Seen:
    return group.seen


def _block(model: Model, first: Group, second: Group) -> FloatArray:
    """Covariances of the means of one group's experts and another's, shape (n_points, n_first, n_second)."""
    committee = model.committee((first.inputs[0][:1], np.zeros(1)))

    def members(group: Group) -> list[tuple[Tensor, Tensor]]:
        tensors = [(torch.tensor(X), torch.tensor(w)) for X, w in zip(group.inputs, group.weights, strict=True)]
        return [(X.to(committee.kernel.device), w.to(committee.kernel.device)) for X, w in tensors]

    with torch.no_grad():
        rows, columns = members(first), members(second)
        found = [torch.stack([covariance_of_pair(committee, a, b) for b in columns], dim=1) for a in rows]
        return torch.stack(found, dim=1).cpu().numpy()


def _finished(
    model: Model,
    rules: Sequence[NPAE],
    mean_only: bool,
    X: FloatArray,
    pairs: Sequence[tuple[int, int]],
    n_groups: int,
    *parts: Any,
) -> Answer:
    seen: Sequence[Seen] = parts[:n_groups]
    blocks = dict(zip(pairs, parts[n_groups:], strict=True))
    means = torch.tensor(np.concatenate([one.means for one in seen], axis=1))
    variances = torch.tensor(np.concatenate([one.variances for one in seen], axis=1))
    covariance = _put_together(variances, blocks, [one.means.shape[1] for one in seen])
    numerics = seen[0].numerics
    for one in seen[1:]:
        numerics = numerics.and_of(one.numerics)
    with torch.no_grad():
        prior = _prior_variance(model, X)
        own = [(dispersion, 1.0) for one in seen for dispersion in one.dispersions]
        scales = scales_of(View([], means, variances), own, prior, model.noise_variance)
        found = [combine(rule, means, covariance, prior)[0] for rule in rules]
    predictions = []
    for each in found:
        moments = empty_moments(len(X))
        write_moments(moments, slice(None), Aggregate(each.mean, each.var_latent, *scales))
        predictions.append(in_target_units(moments, model.noise_variance, model.scaling, mean_only))
    return Answer(predictions, numerics)


def _prior_variance(model: Model, X: FloatArray) -> Tensor:
    """On the CPU."""
    committee = model.committee((X[:1], np.zeros(1)))
    return committee.prior_variance(Request(committee, model.scaling, X).points(slice(None))).cpu()


def _put_together(variances: Tensor, blocks: dict[tuple[int, int], FloatArray], n_of_group: Sequence[int]) -> Tensor:
    """K_A at every test point, shape (n_points, n_experts, n_experts)."""
    bounds = np.cumsum([0, *n_of_group])
    result = torch.empty(*variances.shape, variances.shape[1], dtype=variances.dtype)
    for (i, j), block in blocks.items():
        rows, columns = slice(bounds[i], bounds[i + 1]), slice(bounds[j], bounds[j + 1])
        shared = torch.tensor(block)
        if i == j:
            shared = shared.triu(1)
            shared = shared + shared.mT
        result[:, rows, columns] = shared
        result[:, columns, rows] = shared.mT
    result.diagonal(dim1=1, dim2=2).copy_(variances)
    return result
