"""The comparison of the defaults with the paper's configuration."""

from __future__ import annotations

import numpy as np

from benchmarks.defaults import CONFIGURATIONS, line
from gpcommittee.aggregation import GRBCM


def test_a_line_has_means_and_the_spread_of_the_scores() -> None:
    measures = np.array([[0.01, -2.0, 1.0, 0.94, 10.0], [0.03, -2.2, 1.2, 0.96, 13.0]])
    assert line("kin40k", "defaults", measures) == (
        "| kin40k, 10,000 rows | defaults | 2 | 0.0200 ± 0.0141 | -2.100 ± 0.141 | 1.10 | 0.950 | 12 |"
    )
    assert (
        line("sarcos", "paper", measures[:1])
        == "| sarcos, all rows | paper | 1 | 0.0100 | -2.000 | 1.00 | 0.940 | 10 |"
    )


def test_the_paper_s_configuration_is_as_published_and_the_defaults_are_the_library_s() -> None:
    paper, defaults = (CONFIGURATIONS[name](10_000, 0) for name in ("paper", "defaults"))
    assert paper.aggregation == GRBCM(level="observation", lead="first")
    assert (paper.n_experts, paper.partition, paper.calibration, paper.kernel) == (
        16,
        "kmeans",
        None,
        "squared_exponential",
    )
    given = {"random_state", "n_jobs"}
    standard = type(defaults)().get_params()
    assert {name: value for name, value in defaults.get_params().items() if name not in given} == {
        name: value for name, value in standard.items() if name not in given
    }
