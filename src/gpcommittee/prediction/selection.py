"""Which rules can do without some of their experts, and which experts they cannot do without."""

from __future__ import annotations

from dataclasses import replace

from gpcommittee.aggregation import BCM, GRBCM, RBCM, Context, Rule


def selectable(rule: Rule) -> bool:
    """Whether a rule's experts fade into its reference, so that some can be left out."""
    return isinstance(rule, BCM | RBCM | GRBCM)


def leads_best(rule: Rule) -> bool:
    """Whether the most certain expert has a weight of its own at every point."""
    return isinstance(rule, GRBCM) and rule.lead == "best"


def always_needed(rule: Rule) -> tuple[int, ...]:
    """Experts with a weight of their own everywhere."""
    return (1,) if isinstance(rule, GRBCM) and rule.lead == "first" else ()


def as_columns(context: Context) -> Context:
    """A context that goes with arrays of points x experts."""
    communication = context.communication
    return replace(
        context,
        prior_variance=context.prior_variance[:, None],
        communication=None
        if communication is None
        else replace(communication, mean=communication.mean[:, None], var_latent=communication.var_latent[:, None]),
    )
