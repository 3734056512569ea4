"""A fitted model as a file: its settings and kernel in the manifest, its data and training path as arrays."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from gpytorch.kernels import Kernel
from numpy.typing import NDArray

from gpcommittee.aggregation import Rule, rule_from_spec, rule_to_spec
from gpcommittee.aggregation.table import is_storable
from gpcommittee.conformal import ConformalScores
from gpcommittee.errors import InvalidParameterError, ModelFileError
from gpcommittee.experts import Committee
from gpcommittee.kernels import KernelFunction
from gpcommittee.persistence.container import read_model_file, write_model_file
from gpcommittee.persistence.custom_kernel import custom_kernel_spec, restore_custom_kernel
from gpcommittee.persistence.kernel_spec import kernel_from_spec, kernel_to_spec
from gpcommittee.records import (
    Hyperparameters,
    KernelScore,
    OwnVariances,
    Partition,
    StageRecord,
    Standardisation,
    TrainingRecord,
)

Arrays = dict[str, NDArray[Any]]

BEFORE: dict[str, Any] = {
    "partition_metric": "standardised",
    "training_experts": "all",
    "objective": "factorised",
    "expert_variances": "shared",
    "calibration": None,
}
"""Settings of models from before these settings existed."""


OF_THIS_PROCESS = ("engine",)
"""Settings that mean nothing to another process."""


@dataclass(frozen=True)
class StoredModel:
    """What a model file holds.

    Attributes
    ----------
    settings : dict
        The estimator's constructor arguments.
    committee : Committee
        On the CPU when read from a file.
    partition : Partition
    scaling : Standardisation
    training : TrainingRecord or None
    aggregation : str or Rule
        The rule of the fit, which the setting "auto" stands for.
    scores : dict of str to dict
        Of the rules among which it was chosen, by name of the score.
    variance_scales : dict of Rule to float
        Of the rules measured so far; a rule of the caller's own is not stored, and measured again.
    conformal : ConformalScores or None
    kernel_name : str or None
        The kernel of the fit, which the setting "auto" stands for. None in files from before there was a choice.
    kernel_scores : dict of str to KernelScore
        Of the kernels among which it was chosen.
    feature_names : tuple of str or None
    metadata : dict
        The caller's own, for JSON.
    """

    settings: dict[str, Any]
    committee: Committee
    partition: Partition
    scaling: Standardisation
    training: TrainingRecord | None
    aggregation: str | Rule
    scores: dict[str, dict[str, Any]]
    variance_scales: dict[Rule, float]
    conformal: ConformalScores | None
    kernel_name: str | None
    kernel_scores: dict[str, KernelScore]
    feature_names: tuple[str, ...] | None
    metadata: dict[str, Any]


def write_model(path: str | os.PathLike[str], model: StoredModel) -> None:
    """Write a fitted model to one file, whole or not at all.

    Raises
    ------
    InvalidParameterError
        If a setting cannot be stored.
    ModelFileError
        If the file cannot be written.
    """
    committee, scaling, record, conformal = model.committee, model.scaling, model.training, model.conformal
    arrays: Arrays = {
        "X": committee.X.cpu().numpy(),
        "y": committee.y.cpu().numpy(),
        "order": model.partition.order,
        "offsets": model.partition.offsets,
        "x_mean": scaling.x_mean,
        "x_scale": scaling.x_scale,
    }
    if record is not None:
        arrays |= {"training_gradient": record.gradient, "training_path": record.path}
    if committee.own is not None:
        arrays |= {"own_signal": committee.own.signal, "own_noise": committee.own.noise}
    if conformal is not None:
        arrays["conformal_scores"] = conformal.scores
    manifest = {
        "settings": _settings_to_spec(model.settings),
        "kernel": _kernel_to_spec(committee.kernel.with_parameters(committee.hyperparameters.kernel)),
        "log_noise_variance": committee.hyperparameters.log_noise_variance,
        "y_mean": float(scaling.y_mean),
        "y_scale": float(scaling.y_scale),
        "feature_names": model.feature_names,
        "training": None if record is None else _without_arrays(record),
        "aggregation": _rule_to_spec(model.aggregation),
        "aggregation_scores": model.scores,
        "variance_scales": [
            {**rule_to_spec(rule), "scale": scale} for rule, scale in model.variance_scales.items() if is_storable(rule)
        ],
        "conformal": None if conformal is None else _conformal_to_spec(conformal),
        "kernel_name": model.kernel_name,
        "kernel_scores": {name: asdict(score) for name, score in model.kernel_scores.items()},
        "metadata": model.metadata,
    }
    write_model_file(path, arrays, manifest)


def read_model(path: str | os.PathLike[str], kernel: Kernel | None) -> StoredModel:
    """Read a model that ``write_model`` wrote.

    Parameters
    ----------
    path : path-like
    kernel : gpytorch.kernels.Kernel or None
        Given where the model was fitted with a kernel class that the file cannot describe.

    Raises
    ------
    ModelFileError
        If the file is corrupted, of an unknown version, or not a model file.
    InvalidParameterError
        If a kernel is needed and not given, or the one given has another structure.
    """
    arrays, manifest = read_model_file(path)
    try:
        return _rebuild(arrays, manifest, kernel)
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError) as error:
        raise ModelFileError(f"{os.fspath(path)} lacks a part of a model ({error!r}); save the model again.") from error


def _rebuild(arrays: Arrays, manifest: dict[str, Any], kernel: Kernel | None) -> StoredModel:
    settings, names = manifest["settings"], manifest["feature_names"]
    partition = Partition(arrays["order"], arrays["offsets"])
    fitted = _kernel_from_spec(manifest["kernel"], kernel)
    X, y = torch.from_numpy(arrays["X"]), torch.from_numpy(arrays["y"])
    if X.ndim != 2 or X.shape[0] != len(y) or len(y) != len(partition.order) or X.shape[1] != len(arrays["x_mean"]):
        raise ModelFileError("The arrays of the model file do not belong together; save the model again.")
    function = KernelFunction(fitted, X.dtype)
    return StoredModel(
        settings=_settings_from_spec(settings, partition, kernel),
        committee=Committee(
            function,
            Hyperparameters(function.start, manifest["log_noise_variance"]),
            X,
            y,
            partition.offsets,
            own=_own_variances(arrays, partition),
        ),
        partition=partition,
        scaling=Standardisation(arrays["x_mean"], arrays["x_scale"], manifest["y_mean"], manifest["y_scale"]),
        training=_record(manifest["training"], arrays),
        aggregation=_rule_from_spec(manifest.get("aggregation", settings["aggregation"])),
        scores=manifest.get("aggregation_scores", {}),
        variance_scales={rule_from_spec(spec): float(spec["scale"]) for spec in manifest.get("variance_scales", [])},
        conformal=_conformal(manifest.get("conformal"), arrays),
        kernel_name=manifest.get("kernel_name"),
        kernel_scores={name: KernelScore(**score) for name, score in manifest.get("kernel_scores", {}).items()},
        feature_names=None if names is None else tuple(names),
        metadata=manifest["metadata"],
    )


def _own_variances(arrays: Arrays, partition: Partition) -> OwnVariances | None:
    if "own_signal" not in arrays:
        return None
    own = OwnVariances(arrays["own_signal"], arrays["own_noise"])
    if not own.signal.shape == own.noise.shape == (partition.n_experts,):
        raise ModelFileError("The arrays of the model file do not belong together; save the model again.")
    return own


def read_metadata(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The metadata that a model was saved with.

    Raises
    ------
    ModelFileError
        If the file is corrupted, of an unknown version, or not a model file.
    """
    _, manifest = read_model_file(path)
    metadata: dict[str, Any] = manifest["metadata"]
    return metadata


def _settings_to_spec(settings: dict[str, Any]) -> dict[str, Any]:
    kernel, checkpoint = settings["kernel"], settings["checkpoint"]
    special = {
        "aggregation": _rule_to_spec(settings["aggregation"]),
        "kernel": kernel if kernel is None or isinstance(kernel, str) else _kernel_to_spec(kernel),
        "partition": settings["partition"] if isinstance(settings["partition"], str) else None,
        "random_state": _seed_or_none(settings["random_state"]),
        "device": None if settings["device"] is None else str(settings["device"]),
        "checkpoint": None if checkpoint is None else os.fspath(checkpoint),
    }
    return {name: value for name, value in {**settings, **special}.items() if name not in OF_THIS_PROCESS}


def _settings_from_spec(spec: dict[str, Any], partition: Partition, kernel: Kernel | None) -> dict[str, Any]:
    described = spec["kernel"]
    special = {
        "aggregation": _rule_from_spec(spec["aggregation"]),
        "kernel": _kernel_from_spec(described, kernel) if isinstance(described, dict) else described,
        "partition": partition.labels() if spec["partition"] is None else spec["partition"],
    }
    return {**BEFORE, **spec, **special}


def _rule_to_spec(aggregation: str | Rule) -> str | dict[str, object]:
    return aggregation if isinstance(aggregation, str) else rule_to_spec(aggregation)


def _rule_from_spec(spec: str | dict[str, Any]) -> str | Rule:
    return spec if isinstance(spec, str) else rule_from_spec(spec)


def _conformal_to_spec(conformal: ConformalScores) -> dict[str, Any]:
    return {"rules": [rule_to_spec(rule) for rule in conformal.rules], "calibration": conformal.calibration}


def _conformal(spec: dict[str, Any] | None, arrays: Arrays) -> ConformalScores | None:
    if spec is None:
        return None
    rules = tuple(rule_from_spec(rule) for rule in spec["rules"])
    return ConformalScores(rules, arrays["conformal_scores"], spec["calibration"])


def _seed_or_none(random_state: object) -> int | None:
    """A generator's state is not stored: the partition it gave is."""
    return int(random_state) if isinstance(random_state, int | np.integer) else None


def _kernel_to_spec(kernel: Kernel) -> dict[str, Any]:
    try:
        return kernel_to_spec(kernel)
    except InvalidParameterError:
        return custom_kernel_spec(kernel)


def _kernel_from_spec(spec: dict[str, Any], given: Kernel | None) -> Kernel:
    """The described kernel; one that is given fills in for a class that the file cannot describe."""
    if spec.get("custom") and given is not None:
        return restore_custom_kernel(given, spec)
    return kernel_from_spec(spec)


def _without_arrays(record: TrainingRecord) -> dict[str, Any]:
    return {name: value for name, value in asdict(record).items() if name not in ("gradient", "path")}


def _record(spec: dict[str, Any] | None, arrays: Arrays) -> TrainingRecord | None:
    if spec is None:
        return None
    stages = tuple(StageRecord(**stage) for stage in spec.get("stages", ()))
    parts = {**spec, "at_bounds": tuple(spec["at_bounds"]), "stages": stages}
    return TrainingRecord(gradient=arrays["training_gradient"], path=arrays["training_path"], **parts)
