"""What a fit and a prediction take, in memory and time, before anything is spent."""

from gpcommittee.planning.cluster import ClusterPlan, plan_cluster
from gpcommittee.planning.memory import Memory
from gpcommittee.planning.plan import Plan, plan_fit
from gpcommittee.planning.rate import measure_dgemm_rate
from gpcommittee.planning.stages import PlannedStage
from gpcommittee.planning.traffic import Traffic

__all__ = [
    "ClusterPlan",
    "Memory",
    "Plan",
    "PlannedStage",
    "Traffic",
    "measure_dgemm_rate",
    "plan_cluster",
    "plan_fit",
]
