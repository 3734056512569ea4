"""The estimator's way into a model file and out of it."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import torch
from gpytorch.kernels import Kernel
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from gpcommittee import _settings as settings
from gpcommittee._fitted import FittedState
from gpcommittee.errors import GPCommitteeWarning, ModelFileError
from gpcommittee.metrics import ScoreReport
from gpcommittee.persistence import StoredModel, prior_names, read_model, write_model
from gpcommittee.records import KernelScore


class ModelFileMixin(FittedState):
    """The methods that save and load, to be inherited by the estimator."""

    kernel: str | Kernel | None
    device: str | torch.device | None

    kernel_name_: str
    kernel_scores_: dict[str, KernelScore]
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def save(self, path: str | os.PathLike[str], *, metadata: Mapping[str, Any] | None = None) -> None:
        """Write the fitted model to one file, whole or not at all.

        Parameters
        ----------
        path : path-like
        metadata : mapping, optional
            Anything JSON can hold, kept beside the model; ``gpcommittee.persistence.read_metadata`` reads it.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        InvalidParameterError
            If a setting, such as a rule of your own, or the metadata cannot be stored.
        ModelFileError
            If the file cannot be written; one that was there before is unchanged.
        InvalidTypeError
            If the path is none.

        Warns
        -----
        GPCommitteeWarning
            If the kernel has priors, which a model file does not keep.
        """
        check_is_fitted(self)
        if isinstance(self.kernel, Kernel) and (priors := prior_names(self.kernel)):
            warnings.warn(
                f"The kernel's priors ({', '.join(priors)}) are not stored: the loaded model predicts the same, but "
                "fitting it again is fitting without them.",
                GPCommitteeWarning,
                stacklevel=2,
            )
        names = getattr(self, "feature_names_in_", None)
        model = StoredModel(
            settings=self.get_params(deep=False),
            committee=self.committee_,
            partition=self.partition_,
            scaling=self.scaling_,
            training=self.training_,
            aggregation=self.aggregation_,
            scores={name: report.to_dict() for name, report in self.aggregation_scores_.items()},
            variance_scales=self.variance_scales_,
            conformal=self.conformal_,
            kernel_name=self.kernel_name_,
            kernel_scores=self.kernel_scores_,
            feature_names=None if names is None else tuple(names),
            metadata=dict(metadata or {}),
        )
        write_model(path, model)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], kernel: Kernel | None = None, device: str | torch.device | None = None
    ) -> Self:
        """Read a model file; nothing in it is executed.

        Parameters
        ----------
        path : path-like
        kernel : gpytorch.kernels.Kernel, optional
            Needed if the model was fitted with a kernel class of your own.
        device : str or torch.device, optional
            Where to predict, such as "cpu" for a model that was fitted on a GPU. Default: where it was fitted.

        Raises
        ------
        InvalidParameterError
            If the device cannot be used here, or a kernel is needed and not given or has another structure.
        ModelFileError
            If the file cannot be read, is corrupted, of an unknown version, or not a model file.
        InvalidTypeError
            If the path is none.
        """
        stored = read_model(path, kernel)
        model = cls(**_known_settings(cls, stored.settings, path))
        if device is not None:
            model.device = device
        committee = stored.committee.on(settings.device(model.device))
        scores = {name: ScoreReport.from_dict(report) for name, report in stored.scores.items()}
        model._set_fitted(committee, stored.partition, stored.scaling, stored.training, stored.aggregation)
        model._set_held_out(scores, stored.variance_scales)
        model._set_conformal(stored.conformal)
        model.kernel_name_ = stored.kernel_name or settings.kernel_name(model.kernel, optimise=False)
        model.kernel_scores_ = stored.kernel_scores
        model.n_features_in_ = stored.committee.X.shape[1]
        if stored.feature_names is not None:
            model.feature_names_in_ = np.array(stored.feature_names, dtype=object)
        return model


def _known_settings(
    estimator: type[ModelFileMixin], settings: Mapping[str, Any], path: str | os.PathLike[str]
) -> Mapping[str, Any]:
    known = set(inspect.signature(estimator).parameters)
    if unknown := sorted(set(settings) - known):
        raise ModelFileError(f"The model file '{path}' has settings that this version does not know: {unknown}.")
    return settings
