from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpcommittee.datasets import load_electric, load_kin40k, load_sarcos


def test_kin40k(data_dir: Path) -> None:
    data = load_kin40k()
    assert (data.X_train.shape, data.X_test.shape) == ((10_000, 8), (30_000, 8))
    np.testing.assert_allclose(
        data.X_train[0],
        [1.5519641, 0.58877295, 0.57672447, 1.4223318, -0.11594241, 0.79124989, -1.398249, -0.36962525],
    )
    np.testing.assert_allclose(data.y_train[:2], [0.57637391, 1.5241862])
    np.testing.assert_allclose([data.X_test[1, 0], data.y_test[1]], [0.44225569, 1.8633028], rtol=1e-6)


def test_sarcos(data_dir: Path) -> None:
    data = load_sarcos(data_dir / "sarcos_test_file.parquet")
    assert (data.X_train.shape, data.X_test.shape) == ((4000, 21), (449, 21))
    everything = np.concatenate([data.y_train, data.y_test])
    assert everything.mean() == pytest.approx(13.6921, abs=1e-4)


def test_electric(data_dir: Path) -> None:
    data = load_electric(data_dir)
    assert (data.X_train.shape, data.X_test.shape) == ((1_800_000, 11), (249_258, 11))
    assert set(np.unique(data.X_train[:, 0])) == {2006.0, 2007.0, 2008.0, 2009.0, 2010.0}
    assert (data.X_test[:, 4].min(), data.X_test[:, 4].max()) == (0.0, 59.0)
    assert np.concatenate([data.y_train, data.y_test]).mean() == pytest.approx(1.0916, abs=1e-3)
