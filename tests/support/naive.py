"""The paper's equations written out one test point at a time with dense inverses: slow, independent, for tests only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class NaiveGP:
    """A zero-mean GP with the squared exponential kernel (Eq. 1)."""

    lengthscale: Array
    signal_variance: float
    noise_variance: float

    def k(self, a: Array, b: Array) -> Array:
        scaled = (a[:, None, :] - b[None, :, :]) / self.lengthscale
        covariance: Array = self.signal_variance * np.exp(-0.5 * (scaled**2).sum(axis=2))
        return covariance

    def latent_moments(self, X: Array, y: Array, x: Array) -> tuple[float, float]:
        """Mean and latent variance at one test point (Eq. 3, less the noise)."""
        inverse = np.linalg.inv(self.k(X, X) + self.noise_variance * np.eye(len(X)))
        cross = self.k(X, x[None])[:, 0]
        return float(cross @ inverse @ y), float(self.signal_variance - cross @ inverse @ cross)

    def nlml(self, X: Array, y: Array) -> float:
        noisy = self.k(X, X) + self.noise_variance * np.eye(len(X))
        _, log_determinant = np.linalg.slogdet(noisy)
        return float(0.5 * y @ np.linalg.inv(noisy) @ y + 0.5 * log_determinant + 0.5 * len(y) * np.log(2 * np.pi))


def aggregate(
    gp: NaiveGP, blocks: Sequence[tuple[Array, Array]], x: Array, rule: str, observation: bool, lead: str | None = None
) -> tuple[float, float]:
    """Mean and noisy variance of one rule at one test point (Eqs. 4 to 6, 14 and 15)."""
    offset = gp.noise_variance if observation else 0.0
    X_c, y_c = blocks[0]
    prior = gp.signal_variance + offset
    if rule == "grbcm":
        experts = [gp.latent_moments(np.vstack([X_c, X]), np.append(y_c, y), x) for X, y in blocks[1:]]
        mean_ref, var_ref = gp.latent_moments(X_c, y_c, x)
        var_ref += offset
    else:
        experts = [gp.latent_moments(X, y, x) for X, y in blocks]
        mean_ref, var_ref = 0.0, prior
    means = np.array([mean for mean, _ in experts])
    variances = np.array([variance for _, variance in experts]) + offset
    beta = _weights(rule, variances, var_ref, lead)
    precision = (beta / variances).sum()
    shift = (beta * means / variances).sum()
    if rule in ("bcm", "rbcm", "grbcm"):
        precision += (1 - beta.sum()) / var_ref
        shift += (1 - beta.sum()) * mean_ref / var_ref
    noisy = 1 / precision + (0.0 if observation else gp.noise_variance)
    return shift / precision, noisy


def leave_one_out(gp: NaiveGP, X: Array, y: Array, X_c: Array, y_c: Array) -> Array:
    """Standardised error at each row of a GP on the other rows and on the communication rows."""
    errors = np.empty(len(y))
    for j in range(len(y)):
        others = np.arange(len(y)) != j
        mean, latent = gp.latent_moments(np.vstack([X_c, X[others]]), np.append(y_c, y[others]), X[j])
        errors[j] = (y[j] - mean) / np.sqrt(latent + gp.noise_variance)
    return errors


def _weights(rule: str, variances: Array, var_ref: float, lead: str | None) -> Array:
    entropy: Array = 0.5 * (np.log(var_ref) - np.log(variances))
    if rule in ("poe", "bcm"):
        return np.ones_like(variances)
    if rule == "gpoe":
        return np.full_like(variances, 1 / len(variances))
    if rule == "grbcm" and lead == "first":
        entropy[0] = 1.0
    if rule == "grbcm" and lead == "best":
        entropy[np.argmin(variances)] = 1.0
    return entropy


def aggregate_normalised(
    gp: NaiveGP,
    blocks: Sequence[tuple[Array, Array]],
    x: Array,
    combine: str,
    weights: str,
    sharpness: float,
    *,
    augmented: bool,
    observation: bool,
) -> tuple[float, float]:
    """Mean and noisy variance of a rule whose weights add up to 1, at one test point (Cohen et al., 2020)."""
    offset = gp.noise_variance if observation else 0.0
    prior = var_ref = gp.signal_variance + offset
    experts = [gp.latent_moments(X, y, x) for X, y in blocks]
    if augmented:
        X_c, y_c = blocks[0]
        var_ref = experts[0][1] + offset
        experts = [gp.latent_moments(np.vstack([X_c, X]), np.append(y_c, y), x) for X, y in blocks[1:]]
    means = np.array([mean for mean, _ in experts])
    variances = np.array([variance for _, variance in experts]) + offset
    gain = (0.5 * np.log(var_ref / variances)).clip(min=1e-16)
    beta = np.exp(-sharpness * variances / prior) if weights == "softmax" else gain**sharpness
    beta = beta / beta.sum()
    rest = 0.0 if observation else gp.noise_variance
    if combine == "product":
        precision = (beta / variances).sum()
        return float((beta * means / variances).sum() / precision), float(1 / precision + rest)
    spread = (beta * variances).sum() if combine == "variance" else (beta * np.sqrt(variances)).sum() ** 2
    return float((beta * means).sum()), float(spread + rest)


def aggregate_npae(
    gp: NaiveGP, blocks: Sequence[tuple[Array, Array]], x: Array, jitter: float = 0.0
) -> tuple[float, float]:
    """Mean and noisy variance of NPAE at one test point (Eqs. 7 and 8)."""
    noise = [gp.noise_variance * np.eye(len(y)) for _, y in blocks]
    weights = [
        np.linalg.inv(gp.k(X, X) + eye) @ gp.k(X, x[None])[:, 0] for (X, _), eye in zip(blocks, noise, strict=True)
    ]
    means = np.array([w @ y for w, (_, y) in zip(weights, blocks, strict=True)])
    with_target = np.array([w @ gp.k(X, x[None])[:, 0] for w, (X, _) in zip(weights, blocks, strict=True)])
    covariance = np.array(
        [
            [
                weights[i] @ (gp.k(blocks[i][0], blocks[j][0]) + (noise[i] if i == j else 0.0)) @ weights[j]
                for j in range(len(blocks))
            ]
            for i in range(len(blocks))
        ]
    )
    combination = np.linalg.solve(covariance + jitter * np.eye(len(blocks)), with_target)
    variance = gp.signal_variance - with_target @ combination + gp.noise_variance
    return float(combination @ means), float(variance)
