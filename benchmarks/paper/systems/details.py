"""What a fitted committee learned, ready for JSON."""

from __future__ import annotations

import numpy as np

from gpcommittee import CommitteeRegressor


def committee_details(model: CommitteeRegressor) -> dict[str, object]:
    """Training record, hyperparameters and sizes of the experts."""
    sizes, record = model.partition_.sizes, model.training_
    training: dict[str, object] = {}
    if record is not None:
        training = {
            "objective": record.objective,
            "evaluations": record.evaluations,
            "rejected": record.rejected,
            "converged": record.converged,
            "reason": record.reason,
        }
    return {
        **training,
        "hyperparameters": {name: np.asarray(value).tolist() for name, value in model.hyperparameters_.items()},
        "rows_per_expert": {"least": int(sizes.min()), "most": int(sizes.max()), "communication": int(sizes[0])},
    }
