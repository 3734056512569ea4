"""The objective of experts on a cluster: parameters go out, and a value and a gradient come back from each task.

A task evaluates some experts of one shard with the objectives of one machine. The factorised objective's sums are
exact, so that hyperparameters are the same to the last bit as on one machine, as far as its arithmetic is. Of the
conditional objective every task pulls its own derivatives back through the communication covariance, so that numbers
travel and no matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gpcommittee.cluster.sharded import ShardedRows, experts_together
from gpcommittee.cluster.tasks import Call
from gpcommittee.cluster.worker import Rows, block_of, blocks_of, engine_on, on_device
from gpcommittee.kernels import KernelFunction
from gpcommittee.records import FloatArray, IntArray, Shard
from gpcommittee.sums import ExactSum
from gpcommittee.training.conditional import ConditionalObjective
from gpcommittee.training.objective import FactorisedObjective, with_log_prior
from gpcommittee.training.objectives import is_conditional, weight_of

if TYPE_CHECKING:
    from distributed import Future


@dataclass(frozen=True)
class _Members:
    """Experts of one task.

    Attributes
    ----------
    shard : distributed.Future of Shard
    experts : tuple of int
        Counted from 0 in the shard.
    places : tuple of int
        Theirs among the experts of the objective.
    about : str
        Their numbers, for messages.
    """

    shard: Future[Any]
    experts: tuple[int, ...]
    places: tuple[int, ...]
    about: str


class ClusterObjective:
    """Value and gradient of an objective on a cluster.

    Parameters
    ----------
    name : {"factorised", "conditional"}
    kernel : KernelFunction
        On the CPU.
    rows : ShardedRows
    experts : ndarray of int64, shape (n_chosen,)
        In the order in which they join, the communication expert first.
    n_rows : int
        Rows of the whole committee, for which the experts stand.
    device : str
        On which every worker computes.
    """

    def __init__(
        self, name: str, kernel: KernelFunction, rows: ShardedRows, experts: IntArray, n_rows: int, device: str
    ) -> None:
        sizes = rows.placed.sizes[experts]
        self._conditional = is_conditional(name, sizes)
        self._weight = weight_of(name, sizes, n_rows)
        self._kernel = kernel
        self._rows = rows
        self._experts = experts
        self._device = device
        self.n_rows = int(sizes.sum())

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Objective and gradient at unconstrained kernel parameters and log noise variance, shape (p + 1,).

        Raises
        ------
        NotPositiveDefiniteError
            If a covariance cannot be factored there.
        WorkerError
            If a task failed for good.
        """
        own, *others = self._ask("likelihood", _sums, theta, self._members)
        if self._conditional:
            terms = own.rounded() + self._weight * ExactSum.together(others).rounded()
        else:
            terms = self._weight * ExactSum.together([own, *others]).rounded()
        return with_log_prior(self._kernel, theta, terms)

    def terms(self, theta: FloatArray, experts: slice = slice(None)) -> FloatArray:
        """Terms of the chosen experts, shape (n_chosen,), without weight and log prior.

        Raises
        ------
        NotPositiveDefiniteError
            If a covariance cannot be factored there.
        WorkerError
            If a task failed for good.
        """
        chosen = range(len(self._experts))[experts]
        members = self._grouped([place for place in chosen if place > 0])
        own, *others = self._ask("terms", _terms, theta, members)
        terms = np.empty(len(self._experts))
        terms[0] = own[0]
        for group, found in zip(members, others, strict=True):
            terms[list(group.places)] = found
        return terms[experts]

    def _ask(
        self, work: str, function: Callable[..., Any], theta: FloatArray, members: Sequence[_Members]
    ) -> list[Any]:
        """Values of the communication expert's task and of all others, in their order."""
        cluster, communication = self._rows.cluster, self._rows.communication
        common = (function, self._conditional, self._kept_kernel, self._device, theta, communication)
        own = Call("the communication expert", _evaluated, common)
        others = [
            Call(group.about, _evaluated, (*common, group.shard, group.experts), group.shard, len(group.experts))
            for group in members
        ]
        return cluster.run_where_rows_are(work, [own, *others], self._most)

    @cached_property
    def _kept_kernel(self) -> Future[Any]:
        return self._rows.cluster.keep("kernel", self._kernel)

    @cached_property
    def _members(self) -> list[_Members]:
        return self._grouped(range(1, len(self._experts)))

    @cached_property
    def _most(self) -> int:
        """Experts of one task: all of a shard, or of the factorised objective as many as are worth a task.

        Every task of the conditional one factors the communication set.
        """
        return len(self._experts) if self._conditional else experts_together(self._rows.placed.sizes[self._experts])

    def _grouped(self, places: Sequence[int]) -> list[_Members]:
        """Experts by their shard, so many at a time."""
        chosen = np.array(places, dtype=np.int64)
        numbers = self._experts[chosen]
        order = np.argsort(numbers, kind="stable")
        shards = np.searchsorted(self._rows.firsts, numbers[order], side="right") - 1
        found = []
        for shard in np.unique(shards).tolist():
            of_shard = order[shards == shard]
            parts = np.split(of_shard, range(self._most, len(of_shard), self._most))
            found += [self._group(shard, chosen[part]) for part in parts]
        return found

    def _group(self, shard: int, places: IntArray) -> _Members:
        numbers = self._experts[places]
        return _Members(
            self._rows.placed.shards[shard],
            tuple((numbers - self._rows.firsts[shard]).tolist()),
            tuple(places.tolist()),
            f"expert{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers.tolist()))}",
        )


def _evaluated(
    function: Callable[..., Any],
    conditional: bool,
    kernel: KernelFunction,
    device: str,
    theta: FloatArray,
    communication: Rows,
    shard: Shard | None = None,
    experts: tuple[int, ...] = (),
) -> Any:
    """A task: some experts of a shard, or the communication expert where there is none."""
    own = on_device(kernel, device)
    others = [] if shard is None else blocks_of(own, shard, experts)
    first = [block_of(own, communication)] if conditional or shard is None else []
    make = ConditionalObjective if conditional else FactorisedObjective
    return function(make(own, [*first, *others], engine_on(device)), np.array(theta), shard is None)


def _sums(objective: FactorisedObjective | ConditionalObjective, theta: FloatArray, own: bool) -> ExactSum:
    """Value and gradient of the experts of a task, or of the communication expert."""
    if isinstance(objective, ConditionalObjective):
        return ExactSum.of([objective.sums(theta, with_own=own)])
    return objective.sums(theta)


def _terms(objective: FactorisedObjective | ConditionalObjective, theta: FloatArray, own: bool) -> FloatArray:
    """Terms of the experts of a task, or of the communication expert."""
    given = isinstance(objective, ConditionalObjective) and not own
    return objective.terms(theta, slice(1, None) if given else slice(None))
