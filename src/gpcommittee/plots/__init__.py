"""Pictures; they need matplotlib (the extra ``plots``), which is imported only when one is drawn."""

from gpcommittee.plots.backend import require_matplotlib
from gpcommittee.plots.coverage import draw_coverage
from gpcommittee.plots.world import WorldMaps, draw_world, observed_coverage

__all__ = ["WorldMaps", "draw_coverage", "draw_world", "observed_coverage", "require_matplotlib"]
