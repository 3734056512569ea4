"""Aggregation rules: from the experts' moments to one prediction."""

from gpcommittee.aggregation.accumulator import Accumulator, Term, averaged, empty, merge, single
from gpcommittee.aggregation.barycenter import Barycenter
from gpcommittee.aggregation.bcm import BCM, RBCM
from gpcommittee.aggregation.communication import Communication
from gpcommittee.aggregation.grbcm import GRBCM
from gpcommittee.aggregation.most_certain import MostCertain
from gpcommittee.aggregation.neighbourhood import Neighbourhood, NeighbourhoodSizes
from gpcommittee.aggregation.normalised import NormalisedGPoE
from gpcommittee.aggregation.npae import NPAE, combine
from gpcommittee.aggregation.poe import GPoE, PoE
from gpcommittee.aggregation.rule import (
    AdditiveRule,
    Aggregate,
    Context,
    Experts,
    Reference,
    Rule,
    add,
    finish,
)
from gpcommittee.aggregation.table import PAPER_RULES, RULES, make_rule, rule_from_spec, rule_to_spec

__all__ = [
    "BCM",
    "GRBCM",
    "NPAE",
    "PAPER_RULES",
    "RBCM",
    "RULES",
    "Accumulator",
    "AdditiveRule",
    "Aggregate",
    "Barycenter",
    "Communication",
    "Context",
    "Experts",
    "GPoE",
    "MostCertain",
    "Neighbourhood",
    "NeighbourhoodSizes",
    "NormalisedGPoE",
    "PoE",
    "Reference",
    "Rule",
    "Term",
    "add",
    "averaged",
    "combine",
    "empty",
    "finish",
    "make_rule",
    "merge",
    "rule_from_spec",
    "rule_to_spec",
    "single",
]
