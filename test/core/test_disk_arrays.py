# SPDX-License-Identifier: Apache-2.0
"""Large arrays that need not be held in memory."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
import pytest

from humans_sim.core import arrays
from humans_sim.core.arrays import LARGE, ROWS, by_rows, new_array, release


def resident() -> float:
    """Resident memory of this process [MB]."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def test_large_arrays_leave_memory_and_come_back() -> None:
    """Their content stays, and what was released is not resident."""
    shape = (4 * LARGE // 8 // 100, 100)
    before = resident()
    array = new_array(shape)
    array[:] = np.arange(shape[0])[:, None]
    size = array.nbytes / 2**20
    assert resident() > before + 0.8 * size
    release(array[10:20].reshape(-1))
    assert resident() < before + 0.3 * size
    assert (array[:, 7] == np.arange(shape[0])).all()


def test_small_arrays_are_as_any_other() -> None:
    """They own their memory; releasing them does nothing."""
    array = new_array((10, 3), np.float32)
    array[:] = 1.0
    release(array, None)
    assert array.base is None and array.dtype == np.float32 and (array == 1.0).all()


def test_a_full_disk_takes_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where room cannot be reserved the array is in memory."""

    def full(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(arrays.os, "posix_fallocate", full)
    array = new_array((LARGE // 8 + 1,))
    assert not isinstance(array.base, mmap.mmap)
    array[:] = 2.0
    assert array[-1] == 2.0


def test_rows_are_worked_on_in_parts(rng: np.random.Generator) -> None:
    """The same as all at once, with arrays that are not there."""
    values = rng.normal(size=(2 * ROWS + 5, 4))
    sizes = []

    def square(part: np.ndarray, nothing: None) -> np.ndarray:
        assert nothing is None
        sizes.append(len(part))
        return part[:, :2] ** 2

    result = by_rows(square, values, None)
    assert sizes == [ROWS, ROWS, 5]
    np.testing.assert_array_equal(result, values[:, :2] ** 2)
