"""The command ``fit``."""

from __future__ import annotations

from pathlib import Path

from gpcommittee.cli import fit_options as options
from gpcommittee.cli.options import (
    AggregationName,
    CalibrationName,
    Dask,
    Data,
    DropMissing,
    DtypeName,
    Features,
    Jobs,
    KernelName,
    MemoryBudget,
    MetricName,
    ObjectiveName,
    PartitionName,
    Quiet,
    VariancesName,
    count_or_name,
    split_names,
)
from gpcommittee.cli.outcome import outcome


def fit(
    data: Data,
    target: options.Target,
    out: options.ModelOut,
    features: Features = None,
    expand_dates: options.ExpandDates = False,
    drop_missing: DropMissing = False,
    kernel: options.Kernel = KernelName.AUTO,
    aggregation: options.Aggregation = AggregationName.NEIGHBOURHOOD,
    n_experts: options.NExperts = None,
    expert_size: options.ExpertSize = None,
    communication_size: options.CommunicationSize = None,
    partition: options.PartitionBy = PartitionName.TREE,
    partition_metric: options.PartitionMetric = MetricName.LEARNED,
    calibration: options.Calibration = CalibrationName.HELD_OUT,
    conformal_rows: options.ConformalRows = None,
    objective: options.Objective = ObjectiveName.FACTORISED,
    expert_variances: options.ExpertVariances = VariancesName.SHARED,
    noise_variance: options.NoiseVariance = 0.1,
    max_evaluations: options.MaxEvaluations = 100,
    training_experts: options.TrainingExperts = "auto",
    seed: options.Seed = 0,
    checkpoint: options.Checkpoint = None,
    jobs: Jobs = None,
    dask: Dask = None,
    device: options.Device = None,
    dtype: options.Dtype = DtypeName.FLOAT64,
    memory_budget: MemoryBudget = None,
    quiet: Quiet = False,
) -> None:
    """Fit a committee to a table and save it.

    The column names and the way dates were expanded travel with the model.

    [bold]Examples[/bold]

    \b
    gpcommittee fit train.parquet --target y --out model.gpc
    gpcommittee fit sea.csv --target height --features lat,lon -o sea.gpc
    gpcommittee fit load.csv.gz --target kw --expand-dates -o load.gpc
    gpcommittee fit train.csv --target y --conformal-rows 1000 -o safe.gpc
    gpcommittee fit big.parquet --target y --checkpoint big.log -o big.gpc
    gpcommittee fit parts/ --target y --dask local:4 -o big.gpc
    """  # noqa: D301
    with outcome(quiet=quiet, after_interrupt=_after_interrupt(checkpoint)):
        from gpcommittee.cli.work.cluster import dask_client
        from gpcommittee.cli.work.columns import Columns
        from gpcommittee.cli.work.fit import fit_table

        settings = {
            "kernel": kernel.value,
            "aggregation": aggregation.value,
            "n_experts": n_experts,
            "expert_size": expert_size,
            "communication_size": communication_size,
            "partition": partition.value,
            "partition_metric": partition_metric.value,
            "objective": objective.value,
            "expert_variances": expert_variances.value,
            "calibration": None if calibration is CalibrationName.NONE else calibration.value,
            "noise_variance": noise_variance,
            "max_evaluations": max_evaluations,
            "training_experts": count_or_name(training_experts),
            "random_state": seed,
            "checkpoint": checkpoint,
            "n_jobs": jobs,
            "device": device,
            "dtype": dtype.value,
            "memory_budget": memory_budget,
        }
        columns = Columns(target, split_names(features), expand_dates)
        with dask_client(dask) as engine:
            settings["engine"] = engine
            fit_table(
                data, out, columns, settings, conformal_rows=conformal_rows or 0, drop_missing=drop_missing, quiet=quiet
            )


def _after_interrupt(checkpoint: Path | None) -> str:
    if checkpoint is None:
        return "Nothing was written; with --checkpoint PATH a fit can go on after an interrupt."
    return f"No model was written; the same command goes on from the checkpoint {checkpoint}."
