"""The EGM96 geoid: the height of the sea-level surface above the WGS 84 ellipsoid, 1,038,240 real values.

From the 15-minute grid of the Earth Gravitational Model 1996, US National Geospatial-Intelligence Agency (NGA), public
domain, rounded to centimetres.

References
----------
Lemoine et al., The Development of the Joint NASA GSFC and NIMA Geopotential Model EGM96, NASA/TP-1998-206861, 1998.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from gpcommittee.errors import InvalidParameterError
from gpcommittee.records import FloatArray, IntArray

N_LATITUDES, N_LONGITUDES = 721, 1440
N_CELLS = N_LATITUDES * N_LONGITUDES
_DEGREES = 0.25


@dataclass(frozen=True)
class Geoid:
    """Points of the geoid.

    Attributes
    ----------
    X : ndarray, shape (n_points, 3)
        Unit-sphere coordinates (towards longitude 0 and 90 on the equator, and the north pole), in which there is no
        seam at longitude 0 and no stretching at the poles.
    latitude, longitude : ndarray, shape (n_points,)
        In degrees, -90 to 90 and 0 to 359.75 east.
    height : ndarray, shape (n_points,)
        Geoid undulation in metres, between -106.99 and 85.39.
    """

    X: FloatArray
    latitude: FloatArray
    longitude: FloatArray
    height: FloatArray


@dataclass(frozen=True)
class GeoidGrid:
    """A world grid of the geoid, north to south and eastwards from longitude 0.

    Attributes
    ----------
    latitude : ndarray, shape (n_latitudes,)
        In degrees.
    longitude : ndarray, shape (n_longitudes,)
        In degrees east.
    height : ndarray, shape (n_latitudes, n_longitudes)
        In metres.
    X : ndarray, shape (n_latitudes * n_longitudes, 3)
        Unit-sphere coordinates in the order of ``height.ravel()``.
    """

    latitude: FloatArray
    longitude: FloatArray
    height: FloatArray
    X: FloatArray


def load_geoid(n: int | None = None, seed: int = 0) -> Geoid:
    """Load grid points of the EGM96 geoid.

    Points are drawn uniformly from the 15-minute grid as it is, so their density per area rises towards the poles. All
    1,440 grid points at latitude 90, and at -90, are the pole itself, with one and the same height.

    Parameters
    ----------
    n : int, optional
        Number of points, drawn without replacement; all 1,038,240 in grid order (north to south, then east) by default.
    seed : int, default=0
        Seed of the draw.

    Returns
    -------
    Geoid

    Raises
    ------
    InvalidParameterError
        `n` outside 1 to 1,038,240.

    Examples
    --------
    >>> geoid = load_geoid(n=1000, seed=0)
    >>> geoid.X.shape, geoid.height.shape
    ((1000, 3), (1000,))
    """
    if n is None:
        return _points(np.arange(N_CELLS))
    if not 1 <= n <= N_CELLS:
        raise InvalidParameterError(f"n must lie between 1 and {N_CELLS}, got {n}.")
    return _points(np.random.default_rng(seed).choice(N_CELLS, size=n, replace=False))


def load_geoid_split(n_train: int = 938_240, n_test: int = 100_000, seed: int = 0) -> tuple[Geoid, Geoid]:
    """Draw points for training and others for testing, by default all 1,038,240.

    The 2,880 grid points that are a pole are never for testing, for the same point would be in the training data.

    Parameters
    ----------
    n_train, n_test : int, default=938_240 and 100_000
    seed : int, default=0
        Seed of the draw.

    Returns
    -------
    train, test : Geoid

    Raises
    ------
    InvalidParameterError
        Fewer than 1 point for either, or more than there are.

    Examples
    --------
    >>> train, test = load_geoid_split(1000, 200, seed=0)
    >>> train.X.shape, test.X.shape
    ((1000, 3), (200, 3))
    """
    if min(n_train, n_test) < 1 or n_test > N_CELLS - 2 * N_LONGITUDES or n_train + n_test > N_CELLS:
        raise InvalidParameterError(
            f"n_train and n_test must be at least 1, n_test at most {N_CELLS - 2 * N_LONGITUDES} (the poles are not "
            f"for testing) and their sum at most {N_CELLS}, got {n_train} and {n_test}."
        )
    order = np.random.default_rng(seed).permutation(N_CELLS)
    off_the_poles = np.flatnonzero((order >= N_LONGITUDES) & (order < N_CELLS - N_LONGITUDES))
    test = off_the_poles[:n_test]
    return _points(np.delete(order, test)[:n_train]), _points(order[test])


def load_geoid_grid(step: int = 4) -> GeoidGrid:
    """Load every `step`-th latitude and longitude of the EGM96 geoid, for maps.

    Parameters
    ----------
    step : int, default=4
        Grid spacing in quarters of a degree: 4 gives 181 latitudes and 360 longitudes.

    Returns
    -------
    GeoidGrid

    Raises
    ------
    InvalidParameterError
        `step` outside 1 to 720.

    Examples
    --------
    >>> load_geoid_grid(step=8).height.shape
    (91, 180)
    """
    if not 1 <= step < N_LATITUDES:
        raise InvalidParameterError(f"step must lie between 1 and {N_LATITUDES - 1} quarter degrees, got {step}.")
    height = _heights()[::step, ::step]
    latitude = 90.0 - _DEGREES * np.arange(0.0, N_LATITUDES, step)
    longitude = _DEGREES * np.arange(0.0, N_LONGITUDES, step)
    X = unit_sphere(np.repeat(latitude, len(longitude)), np.tile(longitude, len(latitude)))
    return GeoidGrid(latitude=latitude, longitude=longitude, height=height / 100.0, X=X)


def unit_sphere(latitude: FloatArray, longitude: FloatArray) -> FloatArray:
    """Cartesian coordinates on the unit sphere.

    Parameters
    ----------
    latitude, longitude : ndarray, shape (n_points,)
        In degrees.

    Returns
    -------
    ndarray, shape (n_points, 3)

    Examples
    --------
    >>> unit_sphere(np.array([0.0, 90.0]), np.array([90.0, 0.0])).round(12) + 0.0
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """
    phi, lam = np.radians(latitude), np.radians(longitude)
    # The sine of the colatitude: exactly 0 at the poles, so that all their grid points coincide.
    ring = np.sin(np.radians(90.0 - np.abs(latitude)))
    return np.column_stack([ring * np.cos(lam), ring * np.sin(lam), np.sin(phi)])


def _points(cells: IntArray) -> Geoid:
    row, column = np.divmod(cells, N_LONGITUDES)
    latitude, longitude = 90.0 - _DEGREES * row, _DEGREES * column
    height = _heights()[row, column] / 100.0
    return Geoid(X=unit_sphere(latitude, longitude), latitude=latitude, longitude=longitude, height=height)


def _heights() -> NDArray[np.int16]:
    """In centimetres, shape (721, 1440)."""
    with files("gpcommittee.datasets").joinpath("egm96_15min_cm.npz").open("rb") as file, np.load(file) as stored:
        heights: NDArray[np.int16] = stored["undulation_cm"]
    return heights
