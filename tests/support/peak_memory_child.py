"""Peak memory of a fit and a prediction by neighbourhood experts, in a process of its own."""

from __future__ import annotations

import numpy as np

from benchmarks._child import Answer, Arrays, answer_parent
from benchmarks._memory import forget_peak_memory, peak_memory_gib


def work(question: Answer, arrays: Arrays) -> tuple[Answer, Arrays]:
    """Bytes at the peak of each; None where the system does not tell."""
    import torch
    from gpytorch.kernels import RBFKernel, ScaleKernel

    from gpcommittee import CommitteeRegressor

    torch.set_num_threads(1)
    n_rows, n_features, n_test = question["shape"]
    generator = np.random.default_rng(0)
    X = generator.standard_normal((n_rows, n_features))
    y = np.sin(X.sum(axis=1)) + 0.1 * generator.standard_normal(n_rows)
    inner = RBFKernel(ard_num_dims=n_features)
    inner.initialize(lengthscale=1.5)
    model = CommitteeRegressor(
        ScaleKernel(inner), noise_variance=0.02, optimizer=None, n_jobs=1, memory_budget=question["budget"]
    )
    forget_peak_memory()
    model.fit(X, y)
    fitted = peak_memory_gib()
    X_test = generator.standard_normal((n_test, n_features))
    forget_peak_memory()
    model.predict(X_test, return_std=True)
    return {"fit": fitted, "predict": peak_memory_gib()}, {}


if __name__ == "__main__":
    answer_parent(work)
