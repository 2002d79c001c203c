# SPDX-License-Identifier: Apache-2.0
"""Walks that see the ground: soles whole on a level, swings clear of edges."""

from __future__ import annotations

from functools import partial

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.contact.geometry.ground import ground_heights
from humans_sim.control.walking import WalkPattern, WalkSettings
from humans_sim.control.walking.footsteps import Footprint, Side, SolePair, swing
from humans_sim.control.walking.listed_footsteps import Heights, ListedStep
from humans_sim.control.walking.pattern import PatternPoint

RISE, DEPTH, START = 0.02, 0.4, 0.5


def heights_of(rise: float = RISE, count: int = 3) -> Heights:
    """Of stairs, on their floor."""
    ground = hs.Ground().with_stairs(
        count=count, rise=rise, depth=DEPTH, start=START, width=1.5
    )
    return partial(ground_heights, ground)


def walked(pattern: WalkPattern, seconds: float) -> list[PatternPoint]:
    """The walk forwards."""
    pattern.command(0.25, 0.0, 0.0)
    return [pattern.tick(0.02 * (k + 1)) for k in range(round(seconds / 0.02))]


def outline(corners: np.ndarray) -> np.ndarray:
    """Places along the edges of a sole (n, 3) [m]."""
    places = [
        a + share * (b - a)
        for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True)
        for share in np.linspace(0.0, 1.0, 15)
    ]
    return np.column_stack([places, np.zeros(len(places))])


@pytest.fixture(scope="module")
def climb(bip: hs.Model) -> list[PatternPoint]:
    """Bip up the stairs."""
    return walked(WalkPattern(bip, heights=heights_of()), 8.4)


def test_it_climbs(bip: hs.Model, climb: list[PatternPoint]) -> None:
    """Both feet come to the last level; the centre of mass follows the lower one."""
    last = climb[-1]
    for foot in (last.left, last.right):
        assert foot.pose.translation[2] == pytest.approx(3 * RISE)
    height = WalkSettings.of_model(bip).com_height
    assert last.com[2] == pytest.approx(height + 3 * RISE)
    rises = np.diff([point.com[2] for point in climb])
    assert rises.min() > -1e-12


def test_feet_clear_the_edges(bip: hs.Model, climb: list[PatternPoint]) -> None:
    """No edge of a sole is below the ground; standing soles are whole on it."""
    heights = heights_of()
    corners = SolePair.of_model(bip, WalkSettings.of_model(bip)).corners
    for point in climb:
        for side, foot in ((Side.LEFT, point.left), (Side.RIGHT, point.right)):
            edge = outline(corners[side]) @ foot.pose.rotation.T + foot.pose.translation
            gaps = edge[:, 2] - heights(edge[:, :2])
            assert gaps.min() > -1e-9
            if not foot.velocity.any():
                assert gaps.max() < 1e-9


def test_the_posture_has_its_feet_there(
    bip: hs.Model, climb: list[PatternPoint]
) -> None:
    """Soles of the configuration are where the plan has them."""
    for point in climb[::25]:
        for name, foot in (("l_sole", point.left), ("r_sole", point.right)):
            away = bip.frame_pose(point.q, name).translation - foot.pose.translation
            assert np.abs(away).max() < 1e-4


@pytest.mark.parametrize("rise", [0.03, -0.03, 0.0])
def test_velocity_of_a_swing(rise: float) -> None:
    """It is the derivative of the pose, up and down a stair."""
    start, end = Footprint(0.0, 0.1, 0.0, 0.5), Footprint(0.4, 0.12, 0.1, 0.5 + rise)
    for t in np.linspace(0.01, 0.71, 29):
        one, other = (swing(start, end, 0.04, 0.72, t + d) for d in (-1e-6, 1e-6))
        rate = (other.pose.translation - one.pose.translation) / 2e-6
        turn = pin.log3(other.pose.rotation @ one.pose.rotation.T) / 2e-6
        here = swing(start, end, 0.04, 0.72, t).velocity
        np.testing.assert_allclose(np.append(rate, turn), here, atol=1e-5)
    assert swing(start, end, 0.04, 0.72, 0.72).pose.translation[2] == end.z


def test_a_riser_that_is_too_high(bip: hs.Model) -> None:
    """The walk marks time before it."""
    high = WalkSettings.of_model(bip).foot_lift + 0.01
    last = walked(WalkPattern(bip, heights=heights_of(rise=high)), 9.0)[-1]
    for foot in (last.left, last.right):
        assert foot.pose.translation[2] < high
        assert 0.2 < foot.pose.translation[0] < START - 0.17
    assert last.steps > 6


def test_listed_steps_lie_on_the_ground(bip: hs.Model) -> None:
    """Heights come from the ground; a place across an edge is refused."""
    pattern = WalkPattern(bip, heights=heights_of())
    with pytest.raises(
        hs.errors.ParameterError, match="footstep 1: the ground is not flat"
    ):
        pattern.follow([ListedStep(Side.LEFT, Footprint(0.4, 0.11, 0.0))])
    places = ((Side.LEFT, 0.25), (Side.RIGHT, 0.31), (Side.LEFT, 0.63))
    pattern.follow(
        [ListedStep(side, Footprint(x, side * 0.11, 0.0)) for side, x in places]
    )
    pattern.tick(0.1)
    planned = [pattern.tick(0.1 + 0.02 * k).left for k in range(200)]
    assert planned[-1].pose.translation == pytest.approx([0.63, 0.11, RISE])


def test_a_foot_across_an_edge_at_first(bip: hs.Model) -> None:
    """It is refused."""
    with pytest.raises(
        hs.errors.ParameterError, match="not flat where the left foot stands"
    ):
        WalkPattern(bip, place=Footprint(0.45, 0.0, 0.0), heights=heights_of())
