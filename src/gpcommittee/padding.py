"""Experts of nearly equal size as one batch: which go together, and the rows of padding that make them equal.

A row of padding has variance 1, no covariance with any other row, and target 0. So the Cholesky factor of an expert is
a block of its padded one, of which the rest is the identity; whatever is whitened by it is 0 at the padding. Padding
comes last, and only columns that are padding in some expert of the batch are ever touched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

LEAST_FILL = 0.85
"""Rows of the smallest expert of a batch, as a share of the largest's: work grows with the cube of the latter."""

MOST_TOGETHER = 64
"""Experts in a batch: enough to keep a graphics processor busy, few enough for memory not to decide."""


def batches(sizes: Sequence[int], bytes_of: Callable[[int], float], memory: float) -> list[list[int]]:
    """Which experts go together.

    Parameters
    ----------
    sizes : sequence of int
        Rows of each expert.
    bytes_of : callable
        Memory that one expert takes in a batch, given its rows.
    memory : float
        Bytes that a batch may take; 0: every expert for itself, in the order given.

    Returns
    -------
    list of list of int
        Numbers of the experts of each batch; every expert is in one of them. Experts of equal size keep their order.
    """
    if memory <= 0:
        return [[number] for number in range(len(sizes))]
    found: list[list[int]] = []
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        largest = sizes[found[-1][0]] if found else 0
        most = min(MOST_TOGETHER, memory / bytes_of(largest)) if found else 0
        if found and len(found[-1]) + 1 <= most and sizes[number] >= LEAST_FILL * largest:
            found[-1].append(number)
        else:
            found.append([number])
    return found


@dataclass(frozen=True)
class Padding:
    """Sizes of the experts of a batch, filled up to the largest.

    Attributes
    ----------
    sizes : tuple of int, length b
        Rows of each expert; ``m`` is the largest.
    """

    sizes: tuple[int, ...]

    @classmethod
    def of(cls, blocks: Sequence[Tensor]) -> Padding:
        """Of blocks with the rows of one expert each."""
        return cls(tuple(len(block) for block in blocks))

    @property
    def largest(self) -> int:
        """Rows of every expert, padding included."""
        return max(self.sizes)

    @property
    def smallest(self) -> int:
        """Rows that are padding in no expert."""
        return min(self.sizes)

    def stack(self, blocks: Sequence[Tensor]) -> Tensor:
        """Blocks of shape (m_i, ...) as one of shape (b, m, ...); padding repeats an expert's last row."""
        if self.smallest == self.largest:
            return torch.stack(list(blocks))
        return torch.stack([self._fill(block) for block in blocks])

    def stack_lower(self, factors: Sequence[Tensor]) -> Tensor:
        """Cholesky factors of shape (m_i, m_i) as one of shape (b, m, m)."""
        stacked = factors[0].new_zeros((len(factors), self.largest, self.largest))
        for one, factor in zip(stacked, factors, strict=True):
            one[: len(factor), : len(factor)] = factor
        return self._with_diagonal(stacked, 1.0)

    def unstack(self, stacked: Tensor) -> list[Tensor]:
        """The rows of each expert of shape (m_i, ...), without padding and in memory of their own."""
        return [one[:size].clone() for one, size in zip(stacked, self.sizes, strict=True)]

    def unstack_lower(self, stacked: Tensor) -> list[Tensor]:
        """The factor of each expert, shape (m_i, m_i), without padding and in memory of its own."""
        return [one[:size, :size].clone() for one, size in zip(stacked, self.sizes, strict=True)]

    def clear(self, columns: Tensor) -> Tensor:
        """Set columns that are padding to 0, in place.

        Parameters
        ----------
        columns : Tensor, shape (b, ..., m)

        Returns
        -------
        Tensor
            The one given.
        """
        if self.smallest < self.largest:
            filled = self._filled(columns)
            columns[..., self.smallest :].masked_fill_(filled.view(len(filled), *[1] * (columns.ndim - 2), -1), 0.0)
        return columns

    def detach(self, covariance: Tensor) -> Tensor:
        """Give padding variance 1 and no covariance, in place; shape (b, m, m)."""
        self.clear(covariance)
        self.clear(covariance.mT)
        return self._with_diagonal(covariance, 1.0)

    def clear_diagonal(self, matrices: Tensor) -> Tensor:
        """Set the diagonal at padding to 0, in place; shape (b, m, m)."""
        return self._with_diagonal(matrices, 0.0)

    def mean_of_diagonal(self, matrices: Tensor) -> Tensor:
        """Mean of the diagonal at each expert's own rows, shape (b,), of matrices of shape (b, m, m)."""
        diagonal = self.clear(matrices.diagonal(dim1=-2, dim2=-1).clone())
        return diagonal.sum(dim=-1) / self.rows(diagonal)

    def rows(self, like: Tensor) -> Tensor:
        """Rows of each expert as a tensor of another's type and device, shape (b,)."""
        return torch.tensor(self.sizes).to(like)

    def _with_diagonal(self, matrices: Tensor, value: float) -> Tensor:
        if self.smallest < self.largest:
            diagonal = matrices.diagonal(dim1=-2, dim2=-1)
            diagonal[..., self.smallest :].masked_fill_(self._filled(matrices), value)
        return matrices

    def _fill(self, block: Tensor) -> Tensor:
        return torch.cat([block, block[-1:].expand(self.largest - len(block), *block.shape[1:])])

    def _filled(self, like: Tensor) -> Tensor:
        """Which columns from the smallest size on are padding, shape (b, m - smallest)."""
        numbers = torch.arange(self.smallest, self.largest, device=like.device)
        return numbers >= torch.tensor(self.sizes).to(like.device)[:, None]
