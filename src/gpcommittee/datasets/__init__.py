"""The bundled geoid, the paper's toy function, and loaders for the paper's data sets."""

from gpcommittee.datasets.electric import load_electric
from gpcommittee.datasets.geoid import Geoid, GeoidGrid, load_geoid, load_geoid_grid, unit_sphere
from gpcommittee.datasets.kin40k import load_kin40k
from gpcommittee.datasets.regression import RegressionData
from gpcommittee.datasets.sarcos import load_sarcos
from gpcommittee.datasets.song import load_song
from gpcommittee.datasets.toy import Toy, make_toy, toy_function

__all__ = [
    "Geoid",
    "GeoidGrid",
    "RegressionData",
    "Toy",
    "load_electric",
    "load_geoid",
    "load_geoid_grid",
    "load_kin40k",
    "load_sarcos",
    "load_song",
    "make_toy",
    "toy_function",
    "unit_sphere",
]
