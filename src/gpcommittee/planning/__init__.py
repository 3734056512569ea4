"""What a fit and a prediction take, in memory and time, before anything is spent."""

from gpcommittee.planning.memory import Memory
from gpcommittee.planning.plan import Plan, plan_fit
from gpcommittee.planning.rate import measure_dgemm_rate
from gpcommittee.planning.stages import PlannedStage

__all__ = ["Memory", "Plan", "PlannedStage", "measure_dgemm_rate", "plan_fit"]
