"""Neighbourhood experts on a cluster: leaves and the rows around them stay on the workers, points go there.

Where an expert holds all rows, or where there is one expert, a worker takes all rows together. Otherwise every shard
cuts its own rows into leaves and is sent once the rows around them; that and every prediction is a chain of tasks, so
that what is lost with a worker is made again. The numbers are those of one machine: rows are found in one order, by
distance and then by number.
"""

from gpcommittee.cluster.neighbourhood.left_out import leave_out_on_cluster
from gpcommittee.cluster.neighbourhood.on_shards import MANY_POINTS
from gpcommittee.cluster.neighbourhood.prepare import prepared
from gpcommittee.cluster.neighbourhood.whole import POINTS_TOGETHER

__all__ = ["MANY_POINTS", "POINTS_TOGETHER", "leave_out_on_cluster", "prepared"]
