# SPDX-License-Identifier: Apache-2.0
"""The page of a walk: what is drawn, what the controls do, and a real browser."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from raw_client import CAMERA, connected, packed
from tab import Tab, wait

import humans_sim as hs
from humans_sim.control.walking import Velocity, Walker, WalkSettings
from humans_sim.view.browser.live import FALLEN, LivePage, LiveWalk, cruise
from humans_sim.view.browser.scene import Follower, Scene
from humans_sim.view.browser.scene_layers import body_height
from humans_sim.view.browser.touches import Touches
from humans_sim.view.browser.walk_layer import (
    LENGTH,
    SOLE_COLOURS,
    StepPlan,
    Trail,
    WalkLayer,
    outlines,
    weight_of,
)
from humans_sim.view.browser.walk_page import Progress, Seen, WalkPage

from .test_panel import Calls, control


def standing(model: hs.Model, q: np.ndarray, share: float = 0.5) -> Touches:
    """Contacts of a model that stands; the left sole carries a share of the weight."""
    places = model.contact(q)
    left = np.array([name.startswith("l_") for name in model.contact_names])
    weight = weight_of(model)
    load = np.where(left, share, 1.0 - share) * weight / np.count_nonzero(left)
    up = np.tile([0.0, 0.0, 1.0], (len(places), 1))
    tags = {tag.name: tag.link for tag in model.parts.tags}
    return Touches(
        model.contact_names,
        tuple(tags[name] for name in model.contact_names),
        ("ground",) * len(places),
        places[:, 2],
        places,
        up,
        load[:, None] * up,
    )


def moved(q: np.ndarray, x: float, y: float = 0.0, yaw: float = 0.0) -> np.ndarray:
    """A configuration somewhere else on the floor."""
    shift = pin.SE3(pin.utils.rotate("z", yaw), np.array([x, y, 0.0]))
    moved_q = q.copy()
    moved_q[:7] = pin.SE3ToXYZQUAT(shift * pin.XYZQUATToSE3(q[:7]))
    return moved_q


def test_touches_of_a_standing_robot(khr1: hs.Model) -> None:
    """Arrows of each foot, the centre of pressure between them, their support."""
    q, weight = khr1.neutral(), weight_of(khr1)
    touches = standing(khr1, q, 0.25)
    arrows = touches.arrows(weight, 1.0)
    lengths = np.linalg.norm(arrows[:, 1] - arrows[:, 0], axis=1)
    assert sorted(lengths) == pytest.approx([0.25, 0.75])
    feet = [khr1.contact(q)[rows].mean(axis=0) for rows in (slice(4, 8), slice(4))]
    centre = touches.centre(weight)
    assert centre == pytest.approx(0.25 * feet[0] + 0.75 * feet[1])
    corners = touches.support(weight, 0.01)
    assert len(corners) == 4
    assert np.ptp(corners, axis=0) == pytest.approx(np.ptp(khr1.contact(q), axis=0))


def test_support_of_one_foot_that_rocks(khr1: hs.Model) -> None:
    """All corners of the loaded foot count, on the ground; none of the other one."""
    q = khr1.neutral()
    touches = standing(khr1, q, 1.0)
    tilted = touches.position.copy()
    tilted[4:, 2] = [0.0, 0.0005, 0.0, 0.0005]
    force = touches.force.copy()
    force[5] = force[7] = 0.0
    rocking = Touches(
        *(touches.names, touches.links, touches.surfaces, tilted[:, 2]),
        *(tilted, touches.normal, force),
    )
    corners = rocking.support(weight_of(khr1), 0.005)
    assert len(corners) == 4
    assert corners[:, 1].min() > 0.0
    assert corners[:, 2] == pytest.approx(0.0)
    nothing = Touches(
        *(touches.names, touches.links, touches.surfaces, touches.gap),
        *(touches.position, touches.normal, 0.0 * force),
    )
    assert len(nothing.support(weight_of(khr1), 0.005)) == 0
    assert nothing.centre(weight_of(khr1)) is None
    assert len(nothing.arrows(weight_of(khr1), 1.0)) == 0


def trail(model: hs.Model) -> Trail:
    """No footprint yet."""
    return Trail(model, outlines(model), body_height(model))


def test_footprints_stay_where_feet_stood(khr1: hs.Model) -> None:
    """One for each stance of each foot, flat on the ground, no more than are kept."""
    q, made = khr1.neutral(), trail(khr1)
    for k in range(LENGTH + 5):
        for share in (1.0, 1.0, 0.0):
            here = moved(q, 0.05 * k)
            made.update(here, standing(khr1, here, share))
    left, right = made.prints["l_sole"], made.prints["r_sole"]
    assert len(left) == len(right) == LENGTH
    steps = np.diff([pose.translation[0] for pose in left])
    assert steps == pytest.approx(0.05)
    assert all(pose.translation[2] == pytest.approx(0.0, abs=1e-12) for pose in right)
    assert left[-1].translation[1] > 0 > right[-1].translation[1]
    made.clear()
    assert not made.prints["l_sole"]


def test_footprints_slide_along_and_do_not_double(khr1: hs.Model) -> None:
    """A sole that slides has one print, where it is; one that chatters has one, too."""
    q, made = khr1.neutral(), trail(khr1)
    assert made.update(q, standing(khr1, q, 1.0))
    assert not made.update(q, standing(khr1, q, 1.0))
    for k in range(1, 11):
        here = moved(q, 0.01 * k)
        assert made.update(here, standing(khr1, here, 1.0))
    assert len(made.prints["l_sole"]) == 1
    assert made.prints["l_sole"][0].translation[0] == pytest.approx(0.1, abs=0.03)
    lifted = standing(khr1, here, 0.0)
    made.update(here, lifted)
    made.update(here, standing(khr1, here, 1.0))
    assert len(made.prints["l_sole"]) == 1


def test_no_footprint_of_a_tilted_sole(khr1: hs.Model) -> None:
    """A foot on its edge leaves none; a little tilt leaves a flat one."""
    q, made = khr1.neutral(), trail(khr1)
    for angle, count in ((0.2, 0), (0.03, 1)):
        turn = pin.SE3(pin.utils.rotate("x", angle), np.zeros(3))
        tilted = q.copy()
        tilted[:7] = pin.SE3ToXYZQUAT(turn * pin.XYZQUATToSE3(q[:7]))
        made.update(tilted, standing(khr1, tilted, 1.0))
        assert len(made.prints["l_sole"]) == count
    assert made.prints["l_sole"][0].rotation[:, 2] == pytest.approx([0, 0, 1])


def test_planned_steps_go_along_with_the_real_feet(khr1: hs.Model) -> None:
    """Where the robot is moved and turned, so are the outlines, as they are."""
    settings = WalkSettings.of_model(khr1)
    walker = Walker(khr1, settings)
    walker.pattern.command(0.05, 0.0, 0.0)
    for k in range(30):
        plan = walker.tick(0.02 * k).plan
    steps = StepPlan(khr1, settings).steps(plan, plan.q)
    assert len(steps) >= 2
    assert {step.colour for step in steps} == set(SOLE_COLOURS)
    for step, planned in zip(steps, plan.footsteps, strict=True):
        assert step.corners[:, 2] == pytest.approx(0.0, abs=1e-6)
        inside = step.corners[:, :2].mean(axis=0) - (planned.place.x, planned.place.y)
        assert np.linalg.norm(inside) < 0.03
    away = StepPlan(khr1, settings).steps(plan, moved(plan.q, 1.0, -2.0, 0.5))
    turn = pin.SE3(pin.utils.rotate("z", 0.5), np.array([1.0, -2.0, 0.0]))
    for step, same in zip(away, steps, strict=True):
        expected = [turn.act(corner) for corner in same.corners]
        np.testing.assert_allclose(step.corners, expected, atol=1e-6)


def test_progress() -> None:
    """Way, speed, pace; a pause is no slowness, time that goes back begins anew."""
    progress = Progress()
    for k in range(101):
        assert not progress.update(0.05 * k, np.array([0.1 * 0.05 * k, 0, 9]), 0.1 * k)
    assert progress.distance == pytest.approx(0.5)
    assert progress.speed == pytest.approx(0.1)
    assert progress.real_time_factor == pytest.approx(0.5)
    progress.hold()
    assert progress.real_time_factor == 0.0
    progress.update(5.05, np.array([0.505, 0.0]), 100.0)
    progress.update(5.10, np.array([0.510, 0.0]), 100.05)
    assert progress.real_time_factor == pytest.approx(1.0)
    assert progress.update(0.0, np.array([0.0, 0.0]), 101.0)
    assert progress.distance == progress.speed == 0.0


def test_follower() -> None:
    """Comes along calmly, jumps after a jump, stays where it is put."""
    follower = Follower(0.3)
    for k in range(200):
        follower.update(np.array([0.001 * k, 0.01 * (-1) ** k]), 0.03 * k)
    assert follower.place == pytest.approx([0.199, 0.0], abs=0.02)
    assert abs(follower.place[1]) < 0.003
    assert follower.update(np.array([5.0, 0.0]), 6.0) == pytest.approx([5.0, 0.0])
    follower.on = False
    assert follower.update(np.array([9.0, 0.0]), 9.0) == pytest.approx([5.0, 0.0])


def drawn(server: Any) -> dict[str, Any]:
    """What the page shows, by name."""
    return dict(server.scene._handle_from_node_name)


def test_layer_draws_on_the_ground(khr1: hs.Model) -> None:
    """Marks lie a hair above the floor, below the feet's plates, and go away."""
    scene = Scene(khr1, port=0)
    try:
        layer = WalkLayer(scene, khr1)
        q = khr1.neutral()
        layer.show(q, standing(khr1, q))
        nodes = drawn(scene.server)
        flat = nodes["/stage/walk/made/l_sole_00"]
        assert flat.visible and 0 < flat.position[2] < 0.0015
        assert not nodes["/stage/walk/made/l_sole_01"].visible
        support = nodes["/stage/walk/support"]
        assert support.visible
        assert 0 < support.vertices[:, 2].min() <= support.vertices[:, 2].max() < 0.002
        assert nodes["/stage/walk/zmp"].position == pytest.approx(
            khr1.contact(q).mean(axis=0), abs=1e-9
        )
        assert nodes["/stage/walk/com"].position == pytest.approx(khr1.com(q))
        assert not nodes["/stage/walk/planned/0_0"].visible
        layer.clear()
        assert not flat.visible
    finally:
        scene.stop()


@pytest.fixture
def page(khr1: hs.Model) -> Iterator[WalkPage]:
    """A page without a browser."""
    made = WalkPage(khr1, port=0)
    yield made
    made.stop()


def test_page_follows_and_begins_anew(page: WalkPage, khr1: hs.Model) -> None:
    """The stage goes against the robot; time that goes back takes footprints away."""
    q = moved(khr1.neutral(), 3.0)
    page.show(Seen(time=1.0, q=q, touches=standing(khr1, q)))
    nodes = drawn(page.scene.server)
    assert nodes["/stage"].position == pytest.approx([-3.0, 0.0, 0.0])
    floor = nodes["/stage/scene/0_ground"]
    assert floor.position == pytest.approx([3.0, 0.0, 0.0])
    assert nodes["/stage/walk/made/l_sole_00"].visible
    start = khr1.neutral()
    page.show(Seen(q=start, touches=standing(khr1, start)))
    assert nodes["/stage/walk/made/l_sole_00"].position[0] == pytest.approx(
        0.0, abs=0.05
    )
    assert not nodes["/stage/walk/made/l_sole_01"].visible


def test_page_shows_distance_and_speed(page: WalkPage, khr1: hs.Model) -> None:
    """The status has the walk's own words, and distance and speed of the base."""
    page.add_watch_panel()
    assert page.panel is not None
    page.panel.show_walk()
    for t, x in ((0.0, 0.0), (2.0, 0.5)):
        page._status_time = 0.0  # a status each time
        page.show(Seen(time=t, q=moved(khr1.neutral(), x), phase="walking", steps=3))
    for words in ("2.00 s", "walking", "0.250 m/s", "0.50 m", ">3<"):
        assert words in page.panel._shown


def test_page_shows_a_push(page: WalkPage, khr1: hs.Model) -> None:
    """As an arrow along it, for a moment."""
    calls = Calls()
    page.add_panel(calls.actions())
    q = moved(khr1.neutral(), 0.0, yaw=np.pi / 2)
    control(page.scene.server, "Push").value = True
    page.show(Seen(q=q))
    arrow = drawn(page.scene.server)["/stage/walk/push"]
    assert arrow.visible
    along = arrow.points[0, 1] - arrow.points[0, 0]
    # to the left of a robot that looks along y: against x
    assert along / np.linalg.norm(along) == pytest.approx([-1, 0, 0], abs=1e-6)
    assert calls.made == [("push", pytest.approx([0.0, 0.03]))]


@pytest.mark.study
@pytest.mark.parametrize("impulse", [1e9, -1.0, float("nan"), "0.05"])
def test_no_browser_pushes_harder_than_the_slider(page: WalkPage, impulse: Any) -> None:
    """What the slider cannot have is ignored, and the button pushes as it stood."""
    calls, server = Calls(), page.scene.server
    page.add_panel(calls.actions())
    with connected(page.url) as line:
        line.send(packed(**CAMERA))
        for label, value in (("Impulse [N s]", impulse), ("Push", True)):
            name = control(server, label)._impl.uuid
            line.send(packed("GuiUpdateMessage", uuid=name, updates={"value": value}))
        wait(lambda: bool(calls.made), "the push")
    assert page.scene.refused == 1
    assert calls.made == [("push", pytest.approx([0.0, 0.03]))]


@pytest.fixture(scope="module")
def walk(khr1: hs.Model) -> Iterator[LiveWalk]:
    """A robot that sets off at once, as fast as it can."""
    settings = WalkSettings.of_model(khr1)
    made = LiveWalk(khr1, settings, velocity=cruise(settings))
    made.set_speed(0.0)
    made.start()
    yield made
    made.stop()


def test_it_walks_stops_and_begins_anew(walk: LiveWalk) -> None:
    """Without a page: steps are made, time stops and resumes, a reset is a reset."""
    wait(lambda: walk.seen.steps >= 3, "three steps")
    assert not walk.seen.failed, walk.seen.message
    assert walk.seen.phase in ("starting", "walking")
    assert walk.seen.q[0] > 0.02
    assert walk.seen.touches is not None and walk.seen.planned
    walk.pause(True)
    wait(lambda: walk.seen.paused, "the pause")
    time = walk.seen.time
    walk.push(np.array([0.0, 0.01]))
    walk.pause(False)
    wait(lambda: walk.seen.time > time + 0.1, "time to resume")
    walk.command(Velocity())
    wait(lambda: walk.seen.phase == "standing", "the stop")
    walk.command(Velocity(vx=0.03))
    walk.reset()
    wait(lambda: walk.seen.time < time, "the reset")
    assert abs(walk.seen.q[0]) < 0.02
    wait(lambda: walk.seen.phase == "walking", "the velocity of before the reset")


def test_a_push_that_is_too_hard(walk: LiveWalk) -> None:
    """It falls, the page says so, and nothing sinks into the floor; Reset helps."""
    walk.push(np.array([0.0, 2.0]))
    wait(lambda: walk.seen.phase == FALLEN, "the fall")
    assert walk.seen.failed and "press Get up or Reset" in walk.seen.message
    fell = walk.seen.time
    wait(lambda: walk.seen.time > fell + 1.0, "a second on the floor")
    assert walk.model.tags(walk.seen.q)[:, 2].min() > -1e-6
    walk.get_up()
    wait(lambda: walk.seen.phase == "getting up", "the motion")
    assert "it gets up from its" in walk.seen.message
    assert not walk.seen.failed
    walk.reset()
    wait(lambda: walk.seen.phase in ("starting", "walking"), "the reset")


def test_a_simulation_that_cannot_go_on(
    walk: LiveWalk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason is reported, everything else stays as it was, and Reset helps."""

    def fail(self: Walker, t: float, sensors: object = None) -> None:
        raise hs.HumansError("the legs do not reach")

    with monkeypatch.context() as broken:
        broken.setattr(Walker, "tick", fail)
        wait(lambda: walk.seen.failed, "the failure")
        assert "the legs do not reach (press Reset)" in walk.seen.message
        time = walk.seen.time
        walk.push(np.array([0.0, 0.01]))
        walk.reset()
        wait(lambda: walk.seen.failed, "the failure of the reset")
        assert walk.seen.time == time
    walk.reset()
    wait(lambda: not walk.seen.failed, "the reset")


@pytest.mark.parametrize("impulse", [np.array([np.nan, 0.0]), np.zeros(3), 1.0])
def test_bad_wishes_are_refused(walk: LiveWalk, impulse: Any) -> None:
    """Whoever asks for them hears it; the walk does not."""
    with pytest.raises(hs.errors.ParameterError, match="two finite numbers"):
        walk.push(impulse)
    with pytest.raises(hs.errors.ParameterError, match="0 or more"):
        walk.set_speed(-1.0)
    with pytest.raises(hs.errors.ParameterError, match="finite"):
        walk.command(Velocity(np.inf))


def test_a_body_that_is_too_heavy(human: hs.Model) -> None:
    """It is refused before it would fall; one with servos of its own is not."""
    with pytest.raises(
        hs.errors.ParameterError, match="human36 is too heavy for small"
    ):
        LiveWalk(human)


@pytest.mark.study
@pytest.mark.browser
def test_in_a_browser(khr1: hs.Model, tmp_path: Path) -> None:
    """The robot walks; Pause, Push and Reset do what they say."""
    settings = WalkSettings.of_model(khr1)
    walk, pushes = LiveWalk(khr1, settings, velocity=cruise(settings)), []
    walk.push = pushes.append  # type: ignore[method-assign]
    walk.set_speed(0.2)
    live, stop = LivePage(walk, port=0), threading.Event()
    # A browser without a graphics card is slow: few pictures, and no shadows.
    live.page.scene.server.scene.configure_default_lights(cast_shadow=False)
    shows = threading.Thread(target=live.run, args=(None, stop, 4.0))
    shows.start()
    tab: Tab | None = None
    try:
        tab = Tab(live.page.url, tmp_path / "profile", (480, 360))

        def time() -> float:
            match = re.search(r"time\s+([\d.]+) s", tab.text())
            return float(match.group(1)) if match else -1.0

        wait(lambda: time() > 0.2, "the time on the page")
        tab.click("Pause")
        wait(lambda: "paused" in tab.text(), "the pause on the page")
        stopped = walk.seen.time
        wait(lambda: abs(time() - stopped) < 0.006, "the last time")
        tab.click("Push")
        wait(lambda: len(pushes) == 1, "the push")
        assert pushes[0] == pytest.approx([0.0, 0.03])
        assert walk.seen.time == stopped
        tab.click("Play")
        wait(lambda: time() > stopped + 0.1, "time to resume")
        tab.click("Reset")
        wait(lambda: walk.seen.time < stopped, "the reset")
    finally:
        stop.set()
        shows.join()
        live.close()
        if tab is not None:
            tab.close()
