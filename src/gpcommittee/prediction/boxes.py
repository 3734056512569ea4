"""How near each expert is to a test point: the distance to the smallest box around its rows, in the kernel's metric.

The k nearest experts are summed, fading towards the rim: with d_i the distance to expert i's box and d_(k) the k-th
smallest, expert i has the share (1 - (d_i / d_(k))^2)^2 of itself, and 0 from the rim on. A share depends on the point
alone. It is continuous in it but where k boxes hold a point at once, as they may where many inputs matter: all of
these experts are summed then, and entering the k-th box is a small step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from gpcommittee.experts import Committee
from gpcommittee.kernels import KernelFunction, input_scales
from gpcommittee.records import FloatArray, IntArray


@dataclass(frozen=True)
class Boxes:
    """Boxes around the rows of experts.

    Attributes
    ----------
    scales : ndarray, shape (n_features,)
        By which standardised inputs are divided.
    lower, upper : ndarray, shape (n_experts, n_features)
        Corners, in inputs that are divided by the scales.
    """

    scales: FloatArray
    lower: FloatArray
    upper: FloatArray


def boxes_around(committee: Committee) -> Boxes:
    """Boxes around the rows of every expert of a committee.

    Parameters
    ----------
    committee : Committee

    Returns
    -------
    Boxes
    """
    blocks = [committee.block(expert)[0] for expert in range(committee.n_experts)]
    lower, upper = (np.stack(ends) for ends in zip(*map(corners, blocks), strict=True))
    return in_metric_of(committee.kernel, committee.hyperparameters.kernel, blocks[0], lower, upper)


def corners(X: Tensor) -> tuple[FloatArray, FloatArray]:
    """The least and the largest of each input, each of shape (n_features,)."""
    return X.amin(dim=0).double().numpy(force=True), X.amax(dim=0).double().numpy(force=True)


def in_metric_of(
    kernel: KernelFunction, theta: FloatArray, communication: Tensor, lower: FloatArray, upper: FloatArray
) -> Boxes:
    """Boxes from corners in standardised inputs.

    Parameters
    ----------
    kernel : KernelFunction
    theta : ndarray
        Its parameters.
    communication : Tensor, shape (m_c, n_features)
        Standardised inputs of the communication set, which say what a typical row is.
    lower, upper : ndarray, shape (n_experts, n_features)

    Returns
    -------
    Boxes
    """
    found = input_scales(kernel, theta, communication)
    scales = np.ones(lower.shape[1]) if found is None else found
    return Boxes(scales, lower / scales, upper / scales)


def within_reach(boxes: Boxes, experts: IntArray, points: FloatArray, k: int) -> IntArray:
    """Experts that may be among the k nearest of any of some points.

    No expert is nearer to a point than to the box around all points, and none is farther than from its far side.

    Parameters
    ----------
    boxes : Boxes
    experts : ndarray of int64, shape (n_experts,)
        Numbers of those to choose from, ascending.
    points : ndarray, shape (n_points, n_features)
        Divided by the boxes' scales.
    k : int
        At most as many as there are.

    Returns
    -------
    ndarray of int64
        Ascending.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    lower, upper = boxes.lower[experts], boxes.upper[experts]
    least = distances_of_boxes(boxes, experts, points)
    most = np.square(np.maximum(np.maximum(lower - low, high - upper), 0.0)).sum(axis=1)
    found: IntArray = experts[least <= np.partition(most, k - 1)[k - 1]]
    return found


def distances_of_boxes(boxes: Boxes, experts: IntArray, points: FloatArray) -> FloatArray:
    """Squared distance of the box around some points to each expert's box, shape (n_experts,).

    Parameters
    ----------
    boxes : Boxes
    experts : ndarray of int64, shape (n_experts,)
    points : ndarray, shape (n_points, n_features)
        Divided by the boxes' scales.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    outside = np.maximum(boxes.lower[experts] - high, low - boxes.upper[experts])
    found: FloatArray = np.square(np.maximum(outside, 0.0)).sum(axis=1)
    return found


def distances(boxes: Boxes, experts: IntArray, points: FloatArray) -> FloatArray:
    """Squared distance of each point to each expert's box, shape (n_points, n_experts).

    Parameters
    ----------
    boxes : Boxes
    experts : ndarray of int64, shape (n_experts,)
    points : ndarray, shape (n_points, n_features)
        Divided by the boxes' scales.
    """
    squares = np.zeros((len(points), len(experts)))
    for column, (lower, upper) in enumerate(zip(boxes.lower[experts].T, boxes.upper[experts].T, strict=True)):
        values = points[:, column, None]
        outside = np.maximum(lower - values, values - upper)
        squares += np.square(np.maximum(outside, 0.0, out=outside), out=outside)
    return squares
