"""What a file of predictions holds."""

from __future__ import annotations

from gpcommittee.records import FloatArray, Prediction

PREDICTION_COLUMNS = ("mean", "std", "lower", "upper")


def prediction_columns(prediction: Prediction, deviations: float, include_noise: bool) -> dict[str, FloatArray]:
    """Columns of a file of predictions, by their names.

    Parameters
    ----------
    prediction : Prediction
        With variances.
    deviations : float
        Half the width of an interval, in standard deviations.
    include_noise : bool
        Standard deviations of a new observation; otherwise of the function value.

    Returns
    -------
    dict of str to ndarray
        Each of shape (n_points,).
    """
    mean, std = prediction.mean, prediction.std(include_noise)
    values = (mean, std, mean - deviations * std, mean + deviations * std)
    return dict(zip(PREDICTION_COLUMNS, values, strict=True))
