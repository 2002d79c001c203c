# SPDX-License-Identifier: Apache-2.0
"""Tests of the identification of markers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import humans_sim as hs
from humans_sim.observation.markers.marker_set import (
    Correspondence,
    identify,
    load_correspondence,
    plain_name,
)
from humans_sim.observation.markers.trial import MarkerTrial


def trial_of(*names: str) -> MarkerTrial:
    """Marker k stays at (k, k, k), counted from 1."""
    positions = np.tile(np.arange(1.0, len(names) + 1)[None, :, None], (3, 1, 3))
    return MarkerTrial(names, 0.01 * np.arange(3), positions, np.arange(3))


def places(trial: MarkerTrial) -> dict[str, int]:
    """Which marker of the file each name got."""
    numbers = trial.positions[0, :, 0]
    return {name: int(k) for name, k in zip(trial.names, numbers, strict=True)}


def test_names_that_laboratories_write_differently() -> None:
    """Case, dots, underscores, spaces, dashes and a subject's prefix do not count."""
    trial = trial_of("Bob:L_HEEL", "junk", "r.heel", "S 2")
    found = identify(trial, None, ("R.Heel", "L.Heel", "S2", "R.Toe"))
    assert places(found.trial) == {"R.Heel": 3, "L.Heel": 1, "S2": 4}
    assert found.trial.names == ("R.Heel", "L.Heel", "S2")
    assert found.missing == ("R.Toe",)
    assert found.ignored == ("junk",)
    assert plain_name("a:b:") == plain_name("A:B:")


def test_aliases_come_after_names() -> None:
    """A marker with the very name is taken before one that only has its alias."""
    aliases = {"heel": ("RHEE", "toe"), "toe": ("RTOE",)}
    trial = trial_of("RTOE", "r_hee", "toe")
    found = identify(trial, None, ("heel", "toe"), aliases)
    assert places(found.trial) == {"heel": 2, "toe": 3}
    assert found.ignored == ("RTOE",)


def test_exact_names_win() -> None:
    """Two subjects in one file: the exact name is no question, a bare one is."""
    trial = trial_of("A:HEEL", "HEEL")
    assert places(identify(trial, None, ("HEEL",)).trial) == {"HEEL": 2}
    with pytest.raises(hs.errors.ParameterError, match="any of A:HEEL, B:HEEL"):
        identify(trial_of("A:HEEL", "B:HEEL"), None, ("HEEL",))


def test_one_marker_is_not_two() -> None:
    """An alias of two markers of the set does not decide between them."""
    with pytest.raises(hs.errors.ParameterError, match="could be 'a' and 'b'"):
        identify(trial_of("x"), None, ("a", "b"), {"a": ("X",), "b": ("x.",)})
    with pytest.raises(hs.errors.ParameterError, match="none of the markers"):
        identify(trial_of("x"), None, ("a", "b"))


def test_yaml_mapping(tmp_path: Path) -> None:
    """Names, numbers and none; what is said there goes before equal names."""
    path = tmp_path / "lab.yaml"
    path.write_text("a: second one\nb: 3\nc: -1\nd:\n")
    table = load_correspondence(path, ("a", "b", "c", "d", "e"))
    trial = trial_of("a", "Second_One", "third", "c", "e")
    found = identify(trial, table, ("a", "b", "c", "d", "e"))
    assert places(found.trial) == {"a": 2, "b": 3, "e": 5}
    assert found.missing == ("c", "d") and found.ignored == ("a", "c")


@pytest.mark.parametrize("name", ["lab.csv", "lab.yaml"])
def test_the_manuals_vector(name: str, tmp_path: Path) -> None:
    """Entry i is the number of the marker on tag i; -1 where there is none."""
    path = tmp_path / name
    path.write_text("[2, -1, 1]" if name.endswith("yaml") else "2, -1\n1\n")
    table = load_correspondence(path, ("a", "b", "c", "d"))
    found = identify(trial_of("a", "b", "c"), table, ("a", "b", "c", "d"))
    assert places(found.trial) == {"a": 2, "c": 1}
    assert found.missing == ("b", "d") and found.ignored == ("c",)


def test_numbers_beyond_the_trial_name_their_line(tmp_path: Path) -> None:
    """The fault of a number shows only with a trial; it still names the line."""
    path = tmp_path / "lab.csv"
    path.write_text("1\n9\n")
    table = load_correspondence(path, ("a", "b"))
    with pytest.raises(hs.errors.ModelFileError, match="no number 9") as caught:
        identify(trial_of("x", "y"), table, ("a", "b"))
    assert (caught.value.path, caught.value.line) == (path, 2)


@pytest.mark.parametrize(
    ("name", "text", "line", "message"),
    [
        ("c.yaml", "a: x\nz: y\n", 2, "the marker set has: a, b"),
        ("c.yaml", "a: x\nb: x\n", 2, "already stands for 'a'"),
        ("c.yaml", "a: x\nb: [1]\n", 2, "name or the number"),
        ("c.yaml", "a: true\n", 1, "name or the number"),
        ("c.yaml", "a: 1.5\n", 1, "name or the number"),
        ("c.yaml", "a: 2001-99-99\n", 1, "name or the number"),
        ("c.yaml", "a: 1\nb: 0\n", 2, "numbered from 1"),
        ("c.yaml", "- 1\n- x\n", 2, "whole number"),
        ("c.yaml", "a: [\n", 2, "not YAML"),
        ("c.yaml", "", 1, "empty"),
        ("c.csv", "1\n-2\n", 2, "numbered from 1"),
        ("c.csv", "1\nx\n", 2, "whole number"),
        ("c.csv", "1\n1\n", 2, "already stands"),
        ("c.csv", "1,2\n3\n", 2, "3 numbers for a set of 2"),
        ("c.csv", "\n\n", 1, "empty"),
    ],
)
def test_faults_name_their_line(
    tmp_path: Path, name: str, text: str, line: int, message: str
) -> None:
    """Whatever is wrong, the file and the line are told."""
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(hs.errors.ModelFileError, match=message) as caught:
        load_correspondence(path, ("a", "b"))
    assert (caught.value.path, caught.value.line) == (path, line)


def test_unreadable_files(tmp_path: Path) -> None:
    """Missing, not text, and much too long."""
    with pytest.raises(hs.errors.ModelFileError, match="cannot read"):
        load_correspondence(tmp_path / "none.csv", ("a",))
    path = tmp_path / "bad.csv"
    path.write_bytes(b"\xff\xfe1\x00")
    with pytest.raises(hs.errors.ModelFileError, match="cannot read"):
        load_correspondence(path, ("a",))
    path.write_bytes(b"1," * 600_000)
    with pytest.raises(hs.errors.ModelFileError, match="more than the 1000000"):
        load_correspondence(path, ("a",))


@given(st.one_of(st.binary(max_size=60), st.text("ab:-1 9,;[]{}&*\n#'", max_size=60)))
@example("a: &x [*x]")
@example("{? [a] : 1, b: <<}")
@example("a: !!int x")
@example("a: 0x_")
def test_damaged_files(tmp_path_factory: pytest.TempPathFactory, text: object) -> None:
    """Whatever stands in a file, it is read or refused by its name."""
    content = text.encode() if isinstance(text, str) else bytes(text)  # type: ignore
    folder = tmp_path_factory.getbasetemp()
    for name in ("damaged.yaml", "damaged.csv"):
        path = folder / name
        path.write_bytes(content)
        try:
            table = load_correspondence(path, ("a", "b", "c"))
        except hs.errors.ModelFileError as error:
            assert error.path == path
        else:
            assert set(table.labels) <= {"a", "b", "c"}


@given(st.permutations(range(6)), st.integers(1, 6))
def test_every_permutation_comes_back(order: list[int], count: int) -> None:
    """Any order of any part of the markers is undone by its numbers."""
    names = tuple("abcdef")
    labels = {names[k]: place + 1 for place, k in enumerate(order[:count])}
    found = identify(trial_of(*"uvwxyz"), Correspondence(labels), names[:6])
    assert places(found.trial) == labels
    assert list(found.trial.names) == sorted(labels)
