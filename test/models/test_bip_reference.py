# SPDX-License-Identifier: Apache-2.0
"""Bip against the numbers of the original HuMAnS software."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs


@pytest.fixture(scope="module")
def cases(shared_data: Path) -> list[dict[str, np.ndarray]]:
    """Reference cases computed by the C code that HuMAnS generated."""
    raw = json.loads((shared_data / "bip" / "reference.json").read_text())
    return [{key: np.array(value) for key, value in case.items()} for case in raw]


def assert_close(computed: np.ndarray, reference: np.ndarray) -> None:
    """Equal to 1e-9 of each entry; entries that are zero, to 1e-9 itself."""
    scale = np.where(np.abs(reference) > 1e-12, np.abs(reference), 1.0)
    assert np.max(np.abs(computed - reference) / scale) < 1e-9


def test_inertia(bip: hs.Model, cases: list[dict[str, np.ndarray]]) -> None:
    """The inertia matrix, rotors included, is the original's."""
    for case in cases:
        assert_close(bip.humans.inertia(case["q"]), case["inertia"])


def test_nl_effects(bip: hs.Model, cases: list[dict[str, np.ndarray]]) -> None:
    """The nonlinear effects, rotors included, are the original's."""
    for case in cases:
        computed = bip.humans.nl_effects(case["q"], case["qdot"])
        assert_close(computed, case["nl_effects"])


def test_tags(bip: hs.Model, cases: list[dict[str, np.ndarray]]) -> None:
    """Tags and centre of mass are the original's."""
    for case in cases:
        assert_close(bip.humans.tags(case["q"]), case["tags"])


def test_rotors_matter(bip: hs.Model, cases: list[dict[str, np.ndarray]]) -> None:
    """Bodies alone do not give the reference: the comparison sees the rotors."""
    bodies = hs.load_model("bip", rotors=False)
    case = cases[1]
    difference = np.abs(bodies.humans.inertia(case["q"]) - case["inertia"]).max()
    assert difference > 0.1
    assert bip.rotors is not None and bodies.rotors is None
