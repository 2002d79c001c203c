# SPDX-License-Identifier: Apache-2.0
"""Arrays on the disk are what was computed, and are computed where they are not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from humans_sim.core import kept_arrays, kernels

MODULE = kept_arrays.__name__


class Computed:
    """Counts how often an array is computed."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.times = array, 0

    def __call__(self) -> np.ndarray:
        """The array."""
        self.times += 1
        return self.array


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of its own for what is kept."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    kernels.cache_root.cache_clear()
    yield tmp_path
    kernels.cache_root.cache_clear()


def test_computed_once(folder: Path) -> None:
    """The second call reads the same bits; other arguments are computed."""
    array = np.random.default_rng(1).normal(size=(7, 4)) / 3.0
    first, other = Computed(array), Computed(array[:2])
    for _ in range(2):
        kept = kept_arrays.kept_array(MODULE, ("a", b"\0", 0.1), first)
        assert kept.tobytes() == array.tobytes() and kept.shape == array.shape
    assert first.times == 1
    assert len(kept_arrays.kept_array(MODULE, ("a", b"\0", 0.2), other)) == 2
    assert other.times == 1 and len(list(folder.rglob("*.npy"))) == 2


def test_damaged_file(folder: Path) -> None:
    """What was cut off, or is something else, is computed and written again."""
    computed = Computed(np.arange(5.0))
    kept_arrays.kept_array(MODULE, (1,), computed)
    (path,) = folder.rglob("*.npy")
    sound = path.read_bytes()
    for times, content in enumerate((b"", sound[:-3], b"no array"), 2):
        path.write_bytes(content)
        kept = kept_arrays.kept_array(MODULE, (1,), computed)
        assert np.array_equal(kept, computed.array) and computed.times == times
        assert path.read_bytes() == sound


def test_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more arrays are kept than a folder may have."""
    monkeypatch.setattr(kept_arrays, "_MOST", 3)
    for k in range(5):
        kept_arrays.kept_array(MODULE, (k,), Computed(np.zeros(k)))
    assert len(list(folder.rglob("*.npy"))) == 3
