"""The command ``plan``."""

from __future__ import annotations

from typing import Annotated

import typer

from gpcommittee.cli import fit_options as options
from gpcommittee.cli.options import (
    AggregationName,
    Data,
    DropMissing,
    DtypeName,
    Features,
    Format,
    Jobs,
    KernelName,
    MemoryBudget,
    MetricName,
    ObjectiveName,
    Output,
    PartitionName,
    VariancesName,
    count_or_name,
    split_names,
)
from gpcommittee.cli.outcome import outcome


def plan(
    data: Data,
    target: options.Target,
    features: Features = None,
    expand_dates: options.ExpandDates = False,
    drop_missing: DropMissing = False,
    test_rows: Annotated[int, typer.Option(min=0, metavar="N", help="Rows to predict afterwards.")] = 0,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Plan for a Dask cluster of N workers, one thread each.")
    ] = None,
    output: Output = Format.TABLE,
    kernel: options.Kernel = KernelName.AUTO,
    aggregation: options.Aggregation = AggregationName.NEIGHBOURHOOD,
    n_experts: options.NExperts = None,
    expert_size: options.ExpertSize = None,
    communication_size: options.CommunicationSize = None,
    partition: options.PartitionBy = PartitionName.TREE,
    partition_metric: options.PartitionMetric = MetricName.LEARNED,
    objective: options.Objective = ObjectiveName.FACTORISED,
    expert_variances: options.ExpertVariances = VariancesName.SHARED,
    max_evaluations: options.MaxEvaluations = 100,
    training_experts: options.TrainingExperts = "auto",
    jobs: Jobs = None,
    dtype: options.Dtype = DtypeName.FLOAT64,
    memory_budget: MemoryBudget = None,
) -> None:
    """Say how many experts, how much memory and how much time a fit takes.

    Nothing is fitted: rows and columns are counted, and this machine's speed
    is measured for half a second. Missing values are looked for only with
    --drop-missing. Options are those of fit that change memory or time.

    [bold]Examples[/bold]

    \b
    gpcommittee plan train.parquet --target y
    gpcommittee plan train.parquet --target y --test-rows 1000000
    gpcommittee plan big.csv --target y --expert-size 1000 --jobs 16
    gpcommittee plan parts/ --target y --workers 64
    """  # noqa: D301
    with outcome(after_interrupt=""):
        from gpcommittee.cli.work.columns import Columns
        from gpcommittee.cli.work.plan import plan_table, print_plan

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
            "max_evaluations": max_evaluations,
            "training_experts": count_or_name(training_experts),
            "n_jobs": jobs,
            "dtype": dtype.value,
            "memory_budget": memory_budget,
        }
        columns = Columns(target, split_names(features), expand_dates)
        planned = plan_table(data, columns, test_rows, settings, drop_missing=drop_missing, workers=workers)
        print_plan(planned, as_json=output is Format.JSON)
