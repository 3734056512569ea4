"""What it usually means when a hyperparameter ends on a bound, or when training stops early."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpcommittee.records import TrainingRecord
from gpcommittee.training.optimise import LIMIT

LOWER = {
    "noise_variance": "the target looks noise-free; right for a simulator, else look for rows that occur twice",
    "lengthscale": "the target changes faster along this input than the rows are apart, or the input takes few values",
    "outputscale": "the inputs explain almost nothing of the target, or the target is constant",
}
UPPER = {
    "noise_variance": "the inputs explain nothing of the target, or the target has extreme outliers",
    "lengthscale": "the target hardly depends on this input; it can be left out",
    "outputscale": "the target has a trend or is very smooth; remove the trend or choose a rougher kernel",
}
OTHERWISE = "its search range is too narrow, or the data do not determine it"


def bound_messages(at_lower: Sequence[str], at_upper: Sequence[str], features: Sequence[str]) -> Iterator[str]:
    """One message per parameter on a bound.

    Parameters
    ----------
    at_lower, at_upper : sequence of str
        Names of parameters, as ``SearchSpace.at_bounds`` gives them.
    features : sequence of str
        Names of the inputs; an index of a lengthscale is followed by that of its input.

    Yields
    ------
    str
    """
    for names, side, meanings in ((at_lower, "lower", LOWER), (at_upper, "upper", UPPER)):
        for name in names:
            meaning = next((text for key, text in meanings.items() if key in name), OTHERWISE)
            yield f"{_described(name, features)} ended on its {side} bound: {meaning}."


def _described(name: str, features: Sequence[str]) -> str:
    stem, bracket, index = name.rstrip("]").partition("[")
    if bracket and "lengthscale" in stem and index.isdigit() and int(index) < len(features):
        return f"{name} (input {features[int(index)]})"
    return name


def stopping_advice(record: TrainingRecord) -> str:
    """What to do about a fit that stopped before it converged.

    Parameters
    ----------
    record : TrainingRecord

    Returns
    -------
    str
        One sentence.
    """
    if record.reason.startswith(LIMIT):
        return "More max_evaluations may improve the fit."
    return "No further step improves the objective beyond its rounding errors, as is usual for a noise-free target."
