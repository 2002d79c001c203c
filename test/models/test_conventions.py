# SPDX-License-Identifier: Apache-2.0
"""Files of conventions."""

from __future__ import annotations

from pathlib import Path

import pytest

import humans_sim as hs
from humans_sim.core.errors import ModelFileError, ParameterError
from humans_sim.models.conventions import convention_names, load_convention

FILE = """
title: Ours
model: human36
sides: [R, L]
angles:
  - {body: thigh, of: base_link, sided: true, turns: [z, -x], names: ["{side}HIP", "-"]}
"""


def test_conventions_of_the_package(human: hs.Model) -> None:
    """All load; each angle has one name."""
    names = convention_names()
    assert names == ["humans", "isb", "opensim", "plug-in-gait", "rajagopal"]
    for name in names:
        convention = load_convention(name, human)
        assert convention.name == name
        given = [n for group in convention.groups for n in group.names if n]
        assert len(given) == len(set(given))


def test_a_file_of_ones_own(human: hs.Model, tmp_path: Path) -> None:
    """Sides have their own names and links; a dash names nothing."""
    (tmp_path / "ours.yaml").write_text(FILE)
    right, left = load_convention(tmp_path / "ours.yaml", human).groups
    assert (right.body, right.names, right.side) == ("r_thigh", ("RHIP", None), "r")
    assert (left.body, left.of, left.names) == ("l_thigh", "base_link", ("LHIP", None))
    assert right.letters == "zxy" and right.signs == (1, -1)
    assert right.titles[0] == "HIP"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("body: thigh", "body: tail", "no link called 'tail'"),
        ("turns: [z, -x]", "turns: [z, z]", "no two neighbours the same"),
        ("turns: [z, -x]", "turns: [w, x]", "turns"),
        ('"-"]', "]", "each turn needs a name"),
        ('"-"]', '"{side}HIP"]', "stands twice"),
        ('"{side}HIP"', '"{side} HIP"', "more than letters"),
        ("sides: [R, L]", "sides: ['R,', L]", "more than letters"),
        ("sides: [R, L]", "sides: [R]", "two words"),
        ("sides: [R, L]", "position: [a]", "three names"),
        ("sides: [R, L]", "position: [a, b, HIP]\nsides: ['', L]", "word"),
        ("sides: [R, L]", "sides: [R, L]\nposition: [a, b, LHIP]", "stands twice"),
        ("title: Ours", "titel: Ours", "unknown key"),
    ],
)
def test_faults_name_their_place(
    human: hs.Model, tmp_path: Path, old: str, new: str, message: str
) -> None:
    """A malformed file is refused, with the key."""
    path = tmp_path / "ours.yaml"
    path.write_text(FILE.replace(old, new))
    with pytest.raises(ModelFileError, match=message):
        load_convention(path, human)


def test_other_models_are_refused(human: hs.Model) -> None:
    """Conventions are for a person; unknown ones are answered with those there are."""
    with pytest.raises(ParameterError, match="of human36, not of khr1: take 'humans'"):
        load_convention("opensim", hs.load_model("khr1"))
    with pytest.raises(ParameterError, match="there are: humans, isb, opensim"):
        load_convention("opensimm", human)
