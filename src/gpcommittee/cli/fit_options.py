"""Options of the command ``fit``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpcommittee.cli.options import (
    FLAG,
    MACHINE,
    AggregationName,
    CalibrationName,
    DtypeName,
    KernelName,
    MetricName,
    ObjectiveName,
    PartitionName,
    VariancesName,
    listed,
    one_of,
    positive,
    some_experts,
)

COMMITTEE, TRAINING = "Committee", "Training"

Target = Annotated[str, typer.Option(metavar="COLUMN", help="Column to predict.")]
ModelOut = Annotated[Path, typer.Option("--out", "-o", metavar="MODEL", help="Model file to write, as in model.gpc.")]
ExpandDates = Annotated[
    bool,
    typer.Option(
        "--expand-dates",
        metavar=FLAG,
        help="Use dates as year, month and day, and times as hour and minute too (in UTC).",
    ),
]
Kernel = Annotated[
    KernelName,
    typer.Option(
        metavar="NAME",
        parser=one_of(KernelName),
        rich_help_panel=COMMITTEE,
        help=f"What the target looks like, from smooth to rough or at several scales: {listed(KernelName)} "
        "(auto compares the others on about 4,000 rows, in half a minute).",
    ),
]
Aggregation = Annotated[
    AggregationName,
    typer.Option(
        metavar="NAME",
        parser=one_of(AggregationName),
        rich_help_panel=COMMITTEE,
        help=f"How the experts' predictions are combined: {listed(AggregationName)} ("
        "neighbourhood asks a few experts around each point, the others sum every expert; npae is slow; auto keeps the "
        "best on rows held out for it).",
    ),
]
NExperts = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", rich_help_panel=COMMITTEE, help="Number of experts, the communication expert included."
    ),
]
ExpertSize = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        rich_help_panel=COMMITTEE,
        show_default="1,000 up to 20,000 rows, falling to 500 at 40,000",
        help="Rows per expert, instead of --n-experts.",
    ),
]
CommunicationSize = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        rich_help_panel=COMMITTEE,
        show_default="2,000 up to 20,000 rows, falling to 500 at 80,000, at most a fifth",
        help="Rows in the communication set, which every expert of grbcm sees. With --n-experts or --expert-size, as "
        "many as in an expert.",
    ),
]
PartitionBy = Annotated[
    PartitionName,
    typer.Option(
        metavar="NAME",
        parser=one_of(PartitionName),
        rich_help_panel=COMMITTEE,
        help=f"How rows are divided among the experts: {listed(PartitionName)}.",
    ),
]
PartitionMetric = Annotated[
    MetricName,
    typer.Option(
        metavar="NAME",
        parser=one_of(MetricName),
        rich_help_panel=COMMITTEE,
        help=f"Distance in which tree and kmeans divide them: {listed(MetricName)}; by lengthscales that are learned "
        "on a few experts first, or by standard deviations.",
    ),
]
Calibration = Annotated[
    CalibrationName,
    typer.Option(
        metavar="NAME",
        parser=one_of(CalibrationName),
        rich_help_panel=COMMITTEE,
        help=f"What predicted variances are corrected by: {listed(CalibrationName)}; loo: leave-one-out "
        "errors of the experts; held_out: these, and one factor from rows left out of all experts.",
    ),
]
ConformalRows = Annotated[
    int | None,
    typer.Option(
        min=19,
        metavar="N",
        rich_help_panel=COMMITTEE,
        show_default="none",
        help="Random rows, as in 1000 and at most half, that are not fitted but decide how wide intervals must be: "
        "these then hold at least their share of new rows that are like these, whatever the data. 19 allow 95%.",
    ),
]
Objective = Annotated[
    ObjectiveName,
    typer.Option(
        metavar="NAME",
        parser=one_of(ObjectiveName),
        rich_help_panel=TRAINING,
        help=f"Likelihood to learn by: {listed(ObjectiveName)}; of experts that are independent, or independent given "
        "the communication set, which is several times dearer.",
    ),
]
ExpertVariances = Annotated[
    VariancesName,
    typer.Option(
        metavar="NAME",
        parser=one_of(VariancesName),
        rich_help_panel=TRAINING,
        help=f"Whose signal and noise variances experts have: {listed(VariancesName)}; with their own, predictions "
        "know where the target is noisy and where it is rough.",
    ),
]
NoiseVariance = Annotated[
    float,
    typer.Option(
        metavar="SHARE",
        callback=positive,
        rich_help_panel=TRAINING,
        help="Start of the noise variance, as a share of the target's.",
    ),
]
MaxEvaluations = Annotated[
    int,
    typer.Option(min=1, metavar="N", rich_help_panel=TRAINING, help="Most evaluations of the likelihood per stage."),
]
TrainingExperts = Annotated[
    str,
    typer.Option(
        metavar="N",
        parser=some_experts,
        rich_help_panel=TRAINING,
        help="Experts that the kernel is learned on: a number, auto (more and more, until more would not help) or all.",
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        min=0, metavar="N", rich_help_panel=TRAINING, help="Decides the partition and the order of experts in training."
    ),
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        rich_help_panel=TRAINING,
        help="Log of the training; after an interrupt the same command goes on from it.",
    ),
]
Device = Annotated[
    str | None,
    typer.Option(metavar="NAME", rich_help_panel=MACHINE, show_default="cpu", help="PyTorch device, as in cuda."),
]
Dtype = Annotated[
    DtypeName,
    typer.Option(
        metavar="NAME", parser=one_of(DtypeName), rich_help_panel=MACHINE, help=f"Precision: {listed(DtypeName)}."
    ),
]
