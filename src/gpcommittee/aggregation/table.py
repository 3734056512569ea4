"""Rules by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields
from typing import Any

from gpcommittee.aggregation.barycenter import Barycenter
from gpcommittee.aggregation.bcm import BCM, RBCM
from gpcommittee.aggregation.communication import Communication
from gpcommittee.aggregation.grbcm import GRBCM
from gpcommittee.aggregation.most_certain import MostCertain
from gpcommittee.aggregation.neighbourhood import Neighbourhood
from gpcommittee.aggregation.normalised import NormalisedGPoE
from gpcommittee.aggregation.npae import NPAE
from gpcommittee.aggregation.poe import GPoE, PoE
from gpcommittee.aggregation.rule import Rule
from gpcommittee.errors import InvalidParameterError

RULES: dict[str, Rule] = {
    "neighbourhood": Neighbourhood(),
    "poe": PoE(),
    "gpoe": GPoE(),
    "bcm": BCM(),
    "rbcm": RBCM(),
    "grbcm": GRBCM(),
    "most_certain": MostCertain(),
    "entropy_gpoe": NormalisedGPoE(),
    "softmax_gpoe": NormalisedGPoE(weights="softmax"),
    "barycenter": Barycenter(),
    "npae": NPAE(),
    "communication": Communication(),
}
"""Default form of each rule: latent level, GPoE with weights 1/M, GRBCM led by the most certain expert.

The most certain expert, normalised products and the barycenter are over augmented experts."""

PAPER_RULES: dict[str, Rule] = {
    "poe": PoE(level="observation"),
    "gpoe": GPoE(level="observation"),
    "bcm": BCM(level="observation"),
    "rbcm": RBCM(level="observation"),
    "grbcm": GRBCM(level="observation", lead="first"),
    "npae": NPAE(jitter=1e-10),
    "communication": Communication(level="observation"),
}
"""The paper's form of each rule: observation level, GRBCM led by the first expert, the authors' jitter in NPAE. Rules
that are not in the paper have none."""


def make_rule(aggregation: object, named: dict[str, Rule] = RULES) -> Rule:
    """A rule from its name, or the rule itself.

    Parameters
    ----------
    aggregation : str or Rule
    named : dict of str to Rule, optional
        Rules by name. Default: ``RULES``.

    Returns
    -------
    Rule

    Raises
    ------
    InvalidParameterError
        If it is neither a known name nor a rule.
    """
    if isinstance(aggregation, Rule):
        return aggregation
    if isinstance(aggregation, str) and aggregation in named:
        return named[aggregation]
    raise InvalidParameterError(
        f"Unknown aggregation {aggregation!r}; choose one of {sorted(named)} or a rule of gpcommittee.aggregation."
    )


def written(rule: Rule) -> str:
    """A rule as one writes it: by its name, or by its class with the settings that differ from the defaults.

    Parameters
    ----------
    rule : Rule

    Returns
    -------
    str

    Examples
    --------
    >>> written(GRBCM()), written(PoE(level="observation"))
    ("'grbcm'", "PoE(level='observation')")
    """
    name = next((name for name, named in RULES.items() if named == rule), None)
    if name is not None:
        return repr(name)
    settings = {field.name: getattr(rule, field.name) for field in fields(rule) if field.init and field.repr}
    defaults = {field.name: field.default for field in fields(rule) if field.default is not MISSING}
    given = [f"{name}={value!r}" for name, value in settings.items() if name not in defaults or value != defaults[name]]
    return f"{type(rule).__name__}({', '.join(given)})"


CLASSES: dict[str, type[Rule]] = {
    rule.__name__: rule
    for rule in (
        Neighbourhood,
        PoE,
        GPoE,
        BCM,
        RBCM,
        GRBCM,
        MostCertain,
        NormalisedGPoE,
        Barycenter,
        NPAE,
        Communication,
    )
}


def is_storable(rule: Rule) -> bool:
    """Whether a model file can hold a rule: whether its class is one of this package."""
    return CLASSES.get(type(rule).__name__) is type(rule)


def rule_to_spec(rule: Rule) -> dict[str, object]:
    """A rule as plain values, for a model file.

    Parameters
    ----------
    rule : Rule

    Returns
    -------
    dict
        Class name and settings.

    Raises
    ------
    InvalidParameterError
        If the rule's class is not one of this package.
    """
    name = type(rule).__name__
    if not is_storable(rule):
        raise InvalidParameterError(
            f"A model file cannot hold the rule {name}; save with a rule of gpcommittee.aggregation."
        )
    return {"rule": name, "settings": asdict(rule)}


def rule_from_spec(spec: Mapping[str, Any]) -> Rule:
    """The rule that ``rule_to_spec`` described.

    Parameters
    ----------
    spec : mapping

    Returns
    -------
    Rule

    Raises
    ------
    KeyError
        If the rule's class is not one of this package.
    """
    return CLASSES[spec["rule"]](**spec["settings"])
