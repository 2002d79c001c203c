# SPDX-License-Identifier: Apache-2.0
"""Many worlds: each is what a single simulation gives, whatever the threads."""

from __future__ import annotations

import copy
import math
import signal
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.core.errors import ParameterError
from humans_sim.core.kernels import kernel
from humans_sim.dynamics.stepper import StepError
from humans_sim.dynamics.time_stepping.model_steps import model_series

PERIOD, STEPS = 0.02, 6
MODEL = hs.load_model("khr1")
CONTACTS = hs.Contacts(whole_body=False, self_collision=False)
"""Feet alone: less to compile and to compute."""


def starts(n: int) -> np.ndarray:
    """Configurations a little above the floor, each with other joints (n, nq)."""
    random, q = np.random.default_rng(3), np.tile(MODEL.neutral(), (n, 1))
    q[:, 7:] += random.uniform(-0.05, 0.05, q[:, 7:].shape)
    q[:, 7:] = np.clip(q[:, 7:], MODEL.lower_limits, MODEL.upper_limits)
    q[:, 2] += 0.02
    return q


def commands(n: int, size: float) -> np.ndarray:
    """A command for each step and world (STEPS, n, njoints)."""
    random = np.random.default_rng(4)
    return random.uniform(-size, size, (STEPS, n, len(MODEL.joint_names)))


def singly(
    actuation: hs.Actuation, q: np.ndarray, given: Sequence[Any], **options: Any
) -> Any:
    """A simulation by itself, advanced by hand; its stepper."""
    simulation = hs.Simulation(MODEL, actuation, method="time_stepping", **options)
    stepper = simulation.start(q)
    for k, command in enumerate(given):
        if command is not None:
            stepper.command(command)
        stepper.advance((k + 1) * PERIOD)
    return stepper


def assert_world_is(worlds: hs.Worlds, k: int, stepper: Any) -> None:
    """World k has every bit of a stepper."""
    assert worlds.t[k] == stepper.t
    for mine, single in (
        (worlds.q, stepper.q),
        (worlds.v, stepper.v),
        (worlds.contact_forces, stepper.steps.forces),
        (worlds.contact_modes, stepper.mode),
        (worlds.gaps, stepper.steps.gaps),
    ):
        np.testing.assert_array_equal(mine[k], single)


ACTUATIONS = {
    "servos": (hs.Servo(MODEL), 0.3),
    "delayed servos": (hs.Servo(MODEL, delay=0.005), 0.3),
    "servos with play": (hs.Servo(MODEL, play=0.01), 0.3),
    "torques": (hs.IdealTorque(MODEL), 0.05),
}
"""Actuations and the size of their commands; those with play go through Python."""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ACTUATIONS)
def test_worlds_are_single_simulations(name: str, threads: int) -> None:
    """Bit for bit, with commands of their own, by one thread and by two."""
    actuation, size = ACTUATIONS[name]
    q, given = starts(3), commands(3, size)
    worlds = hs.Worlds(MODEL, 3, actuation, contacts=CONTACTS, threads=threads)
    worlds.reset(q)
    for command in given:
        worlds.step(PERIOD, command)
    assert not worlds.failed.any() and worlds.contact_forces[:, :, 0].max() > 0.0
    for k in range(3):
        single = singly(actuation, q[k], given[:, k], contacts=CONTACTS)
        assert_world_is(worlds, k, single)


def test_whole_bodies_that_fall_on_each_other_are_single_simulations() -> None:
    """With all pairs of solids, whose memory is each world's own."""
    q = starts(4)
    q[:, 3:7] = [math.sin(0.6), 0.0, 0.0, math.cos(0.6)]
    worlds = hs.Worlds(MODEL, 4, ground=hs.Ground(friction=0.4), threads=2)
    worlds.reset(q)
    for _ in range(2 * STEPS):
        worlds.step(PERIOD)
    assert not worlds.failed.any() and worlds.contact_modes.any()
    for k in (0, 3):
        none = [None] * (2 * STEPS)
        single = singly(hs.Actuation(), q[k], none, ground=hs.Ground(friction=0.4))
        assert_world_is(worlds, k, single)


def test_steps_are_those_of_a_run_with_a_controller() -> None:
    """A controller that says the same every period gives the same samples."""
    given = commands(1, 0.3)[:, 0]

    def controller(t: float, state: hs.ControlState) -> np.ndarray:
        return np.asarray(given[min(round(t / PERIOD), STEPS - 1)])

    simulation = hs.Simulation(
        MODEL,
        hs.Servo(MODEL),
        controller,
        method="time_stepping",
        contacts=CONTACTS,
        control_period=PERIOD,
    )
    run = simulation.run(starts(1)[0], t_end=STEPS * PERIOD)
    worlds = hs.Worlds(
        MODEL, 1, hs.Servo(MODEL), contacts=CONTACTS, control_period=PERIOD
    )
    worlds.reset(starts(1))
    for k, command in enumerate(given):
        worlds.step(PERIOD, command)
        np.testing.assert_array_equal(worlds.q[0], run.q[k + 1])
        np.testing.assert_array_equal(worlds.v[0], run.v[k + 1])


def test_some_worlds_are_reset() -> None:
    """By numbers or by a mask; the others go on, and what was known is forgotten."""
    q, actuation = starts(3), hs.Servo(MODEL)
    worlds = hs.Worlds(MODEL, 3, actuation, contacts=CONTACTS, threads=2)
    worlds.reset(q)
    worlds.step(PERIOD)
    worlds.step(PERIOD)
    before = worlds.q
    worlds.reset(q[2], which=[1])
    np.testing.assert_array_equal(worlds.t, [0.04, 0.0, 0.04])
    np.testing.assert_array_equal(worlds.q[[0, 2]], before[[0, 2]])
    worlds.reset(which=np.array([True, False, False]))
    np.testing.assert_array_equal(worlds.q[0], MODEL.neutral())
    worlds.step(PERIOD)
    assert_world_is(worlds, 1, singly(actuation, q[2], [None], contacts=CONTACTS))
    three = singly(actuation, q[2], [None] * 3, contacts=CONTACTS)
    assert_world_is(worlds, 2, three)
    worlds.reset(which=[])
    assert worlds.t[0] == PERIOD


@pytest.mark.parametrize("threads", [1, 2])
def test_a_world_that_fails_stops_no_other(threads: int) -> None:
    """It is marked with its reason and stays; a reset brings it back."""
    worlds = hs.Worlds(
        MODEL, 3, hs.IdealTorque(MODEL), contacts=CONTACTS, threads=threads
    )
    worlds.reset(starts(3))
    torques = np.zeros((3, len(MODEL.joint_names)))
    torques[1] = 1e9
    worlds.step(PERIOD, torques)
    np.testing.assert_array_equal(worlds.failed, [False, True, False])
    assert "velocities grow beyond bounds" in worlds.messages[1]
    assert "1 failed" in repr(worlds)
    stuck = worlds.t[1]
    worlds.step(PERIOD, np.zeros_like(torques))
    assert worlds.t[1] == stuck < PERIOD and worlds.t[0] == 2 * PERIOD
    worlds.reset(starts(3)[1], which=1)
    assert not worlds.failed.any() and worlds.messages == ("", "", "")
    worlds.step(PERIOD)
    np.testing.assert_array_equal(worlds.t, [0.06, 0.02, 0.06])


def test_starts_that_cannot_be_mark_their_worlds() -> None:
    """A robot below the floor has failed; where all have, a step is an error."""
    worlds = hs.Worlds(MODEL, 2, contacts=CONTACTS)
    q = starts(2)
    q[1, 2] -= 0.2
    worlds.reset(q)
    np.testing.assert_array_equal(worlds.failed, [False, True])
    assert "inside what it may only touch" in worlds.messages[1]
    with pytest.raises(StepError, match="no state"):
        worlds.sample(1)
    worlds.step(PERIOD)
    worlds.reset(q[1])
    with pytest.raises(StepError, match="all worlds have failed"):
        worlds.step(PERIOD)


def test_events_and_samples_of_a_world() -> None:
    """Events are those of the last step; a sample has energies and torques."""
    worlds = hs.Worlds(MODEL, 1, hs.Servo(MODEL), contacts=CONTACTS)
    worlds.reset(starts(1))
    seen = 0
    for _ in range(STEPS):
        worlds.step(PERIOD)
        seen += len(worlds.events[0])
        assert all(
            happened.time > worlds.t[0] - PERIOD for happened in worlds.events[0]
        )
    sample = worlds.sample(0)
    assert seen > 0 and len(worlds) == 1
    np.testing.assert_array_equal(sample.q, worlds.q[0])
    assert math.isfinite(sample.kinetic) and sample.torques.any()


def test_arrays_are_snapshots() -> None:
    """What was read before a step does not change with it."""
    worlds = hs.Worlds(MODEL, 1, contacts=CONTACTS)
    given = starts(1)
    worlds.reset(given)
    q, kept = worlds.q, worlds.q.copy()
    given[:] = 0.0
    worlds.step(PERIOD)
    np.testing.assert_array_equal(q, kept)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda w: w.reset(np.zeros(5)), r"q: must have the shape \(2, 24\)"),
        (lambda w: w.reset(v=np.zeros((3, 23))), r"v: must have the shape \(2, 23\)"),
        (lambda w: w.reset(which=[2]), "which: must be different numbers from 0 to 1"),
        (lambda w: w.reset(which=[0, 0]), "which: must be different"),
        (lambda w: w.reset(which=[0.5]), "which: must be different"),
        (lambda w: w.sample(-1), "which: must be"),
        (lambda w: w.step(0.0), "period must be above zero"),
        (lambda w: w.step(PERIOD, np.zeros((2, 3))), r"commands: must have the shape"),
        (lambda w: w.step(PERIOD, "up"), "commands: must be numbers"),
    ],
)
def test_wrong_arguments_are_refused(call: Any, text: str) -> None:
    """The error says which argument, and what it must be; nothing has moved."""
    worlds = hs.Worlds(MODEL, 2, hs.Servo(MODEL), contacts=CONTACTS)
    with pytest.raises(ParameterError, match=text):
        call(worlds)
    np.testing.assert_array_equal(worlds.t, [0.0, 0.0])
    bad = np.zeros((2, len(MODEL.joint_names)))
    bad[1, 3] = math.nan
    with pytest.raises(ParameterError, match="those of world 1 are not finite"):
        worlds.step(PERIOD, bad)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"n": 0}, "n: must be a whole number of worlds"),
        ({"n": True}, "n: must be"),
        ({"threads": 0}, "threads: must be a whole number of threads"),
        ({"model": "khr1"}, "model: must be a biped model"),
        ({"time_step": -1.0}, "time_step must be above zero"),
        ({"control_period": 0.0}, "control period must be above zero"),
    ],
)
def test_wrong_worlds_are_refused(given: dict[str, Any], text: str) -> None:
    """So are worlds that cannot be made."""
    with pytest.raises(ParameterError, match=text):
        hs.Worlds(**{"model": MODEL, "n": 1, "contacts": CONTACTS, **given})


def test_errors_of_an_actuation_say_in_which_world() -> None:
    """A mistake in somebody's law is theirs: it is raised, with the world's number."""

    def law(t: float, state: hs.ControlState) -> np.ndarray:
        if state.q[0] > 1.0:
            raise RuntimeError("a mistake")
        return np.zeros(len(MODEL.joint_names))

    q = starts(3)
    q[2, 0] = 2.0
    worlds = hs.Worlds(MODEL, 3, hs.TorqueLaw(MODEL, law), contacts=CONTACTS, threads=2)
    worlds.reset(q)
    with pytest.raises(RuntimeError, match="a mistake") as caught:
        worlds.step(PERIOD)
    assert caught.value.__notes__ == ["in world 2"]


def test_worlds_share_what_does_not_change() -> None:
    """A model that an actuation holds is not copied with it; buffers are each's own."""
    assert copy.deepcopy([MODEL])[0] is MODEL
    system = hs.ModelSystem(
        MODEL, hs.Ground(), self_collision=MODEL.parts.self_collision
    )
    other = system.with_own_buffers()
    assert other.contacts is system.contacts and other.tree is system.tree
    written = [
        *system.contact_arrays[1:3],
        *system.pairs.arrays[1],
        system.contact_arrays[0][0][2],
    ]
    own = [
        *other.contact_arrays[1:3],
        *other.pairs.arrays[1],
        other.contact_arrays[0][0][2],
    ]
    for one, two in zip(written, own, strict=True):
        assert one.shape == two.shape and not np.shares_memory(one, two)
    assert other.contact_arrays[0][0][2] is other.contact_arrays[1]


def test_series_of_steps_lets_other_threads_run() -> None:
    """The kernel releases the interpreter, and its machine code is kept as ever."""
    assert model_series.targetoptions["nogil"]
    assert type(model_series._cache).__name__ == "_KernelCache"
    assert kernel(nogil=True)(starts).targetoptions["nogil"]


def simulation(friction: float = 0.7, **options: Any) -> hs.Simulation:
    """A robot by time steps, with servos."""
    options = {"method": "time_stepping", "contacts": CONTACTS, **options}
    ground = hs.Ground(friction=friction)
    return hs.Simulation(MODEL, hs.Servo(MODEL), ground=ground, **options)


def test_worlds_that_differ_run_as_their_simulations() -> None:
    """Friction and step of its own: arrays, runs and events are those of each alone."""
    made = [{"friction": 0.05}, {"friction": 0.9}, {"time_step": 5e-4}]
    worlds = hs.Worlds.of([simulation(**each) for each in made], threads=2)
    q, v = starts(3), np.zeros(MODEL.nv)
    v[0] = 0.5
    worlds.reset(q, v)
    worlds.step(PERIOD)
    worlds.reset(q, v)
    runs = worlds.run(t_end=0.1, sampling_period=PERIOD)
    worlds.step(PERIOD)
    for k, each in enumerate(made):
        alone = simulation(**each).run(q[k], v, t_end=0.1, sampling_period=PERIOD)
        run = runs[k]
        assert isinstance(run, hs.Run) and len(run.events) == len(alone.events) > 0
        for name in ("q", "v", "forces", "torques", "gaps"):
            np.testing.assert_array_equal(getattr(run, name), getattr(alone, name))
        # What a run does is not felt by the world that it began from.
        np.testing.assert_array_equal(worlds.q[k], alone.q[1])
    ends = [run.q[-1, 0] for run in runs if isinstance(run, hs.Run)]
    assert ends[0] - ends[1] > 1e-3  # what slides goes farther


def test_a_run_that_cannot_be_is_its_error() -> None:
    """One that begins in the floor; the others run."""
    worlds, q = hs.Worlds.of([simulation(), simulation()]), starts(2)
    q[1, 2] -= 0.2
    worlds.reset(q)
    first, second = worlds.run(t_end=PERIOD)
    assert isinstance(first, hs.Run) and isinstance(second, hs.HumansError)
    assert "inside what it may only touch" in str(second)


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (lambda: [], "there is none"),
        (lambda: [MODEL], "that of world 0 must be a Simulation"),
        (lambda: [simulation(method="event_driven")], "is by event_driven"),
        (lambda: [simulation(pushes=[hs.Push(0.1, (1, 0, 0))])], "has a controller"),
        (lambda: [simulation(), simulation(contacts=None)], "of world 1 has other con"),
        (
            lambda: [
                hs.Simulation(hs.SceneSystem([hs.SceneBody.box("b", 1, (1,) * 3)]))
            ],
            "is no biped's",
        ),
    ],
)
def test_simulations_that_are_no_worlds_are_refused(made: Any, text: str) -> None:
    """The error names the world and why."""
    with pytest.raises(ParameterError, match=text):
        hs.Worlds.of(made())


def test_runs_cannot_have_wrong_times() -> None:
    """What is wrong for all is raised, not an outcome of each."""
    worlds = hs.Worlds.of([simulation(), simulation()])
    with pytest.raises(ParameterError, match="t_end"):
        worlds.run(t_end=-1.0)


def test_an_interrupt_ends_the_runs_of_all_threads() -> None:
    """Long before they are over; worlds can be run again."""
    worlds = hs.Worlds.of([simulation() for _ in range(4)], threads=2)
    worlds.reset(starts(4))
    worlds.run(t_end=PERIOD)  # compiles

    def ring(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            worlds.run(t_end=9e3)  # a day
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert all(isinstance(run, hs.Run) for run in worlds.run(t_end=PERIOD))
