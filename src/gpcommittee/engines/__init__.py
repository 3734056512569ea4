"""Engines run independent tasks in order; they never change the numbers."""

from gpcommittee.engines.blas import one_blas_thread
from gpcommittee.engines.device import total_memory
from gpcommittee.engines.isolation import plain_torch
from gpcommittee.engines.parts import for_tasks_and_parts, map_parts
from gpcommittee.engines.protocol import Engine
from gpcommittee.engines.select import make_engine
from gpcommittee.engines.serial import SerialEngine
from gpcommittee.engines.threads import ThreadEngine

__all__ = [
    "Engine",
    "SerialEngine",
    "ThreadEngine",
    "for_tasks_and_parts",
    "make_engine",
    "map_parts",
    "one_blas_thread",
    "plain_torch",
    "total_memory",
]
