# SPDX-License-Identifier: Apache-2.0
"""Stimulated knees of a body: delays, pulses, switches, torques, energy, errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import muscle_reference as reference
import numpy as np
import pytest

import humans_sim as hs
from humans_sim.actuation import (
    HAMSTRINGS,
    QUADRICEPS,
    CompositeActuation,
    FesMuscles,
    IdealTorque,
    KneeGeometry,
    MuscleError,
    MuscleParameters,
    Stimulator,
)
from humans_sim.actuation.muscle import DECLINING, RELAXED, STIMULATED
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.dynamics.controller import ControlFunction

FULL = Stimulator().max_charge


def knee_index(model: hs.Model) -> int:
    """Which of the joints the right knee is."""
    return model.joint_names.index("r_knee")


PERIOD = 0.01
UNLIMITED = hs.Contacts(limits=False)
"""Of controllers that do not choose their next call, and of samples [s]."""


def leg(
    model: hs.Model,
    actuation: Actuation,
    controller: ControlFunction | None = None,
    angle: float = -1.0,
    **options: object,
) -> tuple[hs.Simulation, np.ndarray]:
    """A shank that hangs from a body held in the air, and its start."""
    if controller is not None:
        options = {"control_period": PERIOD, **options}
    fixed = [name for name in model.joint_names if name != "r_knee"] + ["base"]
    q = model.neutral()
    q[2], q[7 + knee_index(model)] = 2.0, angle
    return hs.Simulation(model, actuation, controller, locked=fixed, **options), q


def pulses_at(
    times: Sequence[float], pulse: Sequence[float]
) -> Callable[[float, hs.ControlState], hs.CommandWithNextCall]:
    """A controller that sends a pulse at each of the times, which start with zero."""
    waits = [*np.diff(times), 1e3]
    left = list(waits)

    def controller(t: float, state: hs.ControlState) -> hs.CommandWithNextCall:
        if t == 0.0:
            left[:] = waits
        return hs.CommandWithNextCall(np.array(pulse), left.pop(0))

    return controller


def stimulations(run: hs.Run) -> list[tuple[float, str]]:
    """When which muscle was stimulated."""
    return [(e.time, e.subject) for e in run.events if e.kind == "stimulation"]


def test_names_and_signs(human: hs.Model, bip: hs.Model, khr1: hs.Model) -> None:
    """Quadriceps extends and hamstrings flex, whichever way a knee is counted."""
    muscles = FesMuscles(human)
    assert muscles.muscle_names[:2] == ("r_quadriceps", "r_hamstrings")
    assert muscles.muscle_names[2:] == ("l_quadriceps", "l_hamstrings")
    assert muscles.joint_names == ("r_knee", "l_knee")
    assert muscles.nz == len(muscles.z_names) == 8
    for model, flexion in ((human, -1.0), (bip, 1.0), (khr1, 1.0)):
        muscles = FesMuscles(model, sides=["l"])
        q, v = model.neutral(), np.zeros(model.nv)
        joint = model.joint_names.index("l_knee")
        q[7 + joint] = 0.8 * flexion
        muscles.initialise(0.0, q, v)
        for force, sign in (((100.0, 0.0), -1.0), ((0.0, 100.0), 1.0)):
            z = np.array([0.0, 0.0, *force])
            generalised, _ = muscles.dynamics(0.0, q, v, z)
            assert np.flatnonzero(generalised).tolist() == [6 + joint]
            assert generalised[6 + joint] * sign * flexion > 1.0
            np.testing.assert_allclose(
                muscles.joint_torques(q, v, z), generalised[[6 + joint]], rtol=1e-12
            )


def test_torque_is_the_virtual_work(human: hs.Model, rng: np.random.Generator) -> None:
    """Torque times speed is minus the pull times the speed of the ends."""
    parallel = MuscleParameters(parallel_force=200.0, parallel_exponent=3.0)
    muscles = FesMuscles(human, {"quadriceps": parallel, "hamstrings": HAMSTRINGS})
    viscosity = muscles.geometry.viscosity
    for _ in range(10):
        q, v = human.random_configuration(rng), rng.normal(size=human.nv)
        muscles.initialise(0.0, q, v)
        z = np.concatenate([rng.uniform(0, 1e4, 4), rng.uniform(0, 400.0, 4)])
        force, _ = muscles.dynamics(0.0, q, v, z)
        h, power = 1e-6, 0.0
        states = muscles.states(0.0, q, v, z)
        above = muscles.states(0.0, human.integrate(q, h * v), v, z)
        below = muscles.states(0.0, human.integrate(q, -h * v), v, z)
        for state, after, before in zip(states, above, below, strict=True):
            speed = (after.length - before.length) / (2 * h)
            assert state.strain_rate == pytest.approx(speed / 0.492, abs=1e-8)
            power -= state.force * speed
        knees = [6 + human.joint_names.index(f"{side}_knee") for side in "rl"]
        power -= viscosity * float((v[knees] ** 2).sum())
        assert force @ v == pytest.approx(power, rel=1e-6)
        powers = muscles.powers(0.0, q, v, z)
        np.testing.assert_allclose(sum(powers), 0.0, atol=1e-9)


def test_scale_is_cross_section(human: hs.Model) -> None:
    """Twice the muscle is two muscles: same strains, forces and stiffness twice."""
    runs = []
    for scale in (1.0, 2.0):
        once = pulses_at([0.0], [FULL])
        quadriceps = {"quadriceps": QUADRICEPS}
        muscles = FesMuscles(human, quadriceps, ["r"], scale=scale)
        still = ["*", "base"]
        sim = hs.Simulation(human, muscles, once, locked=still, control_period=PERIOD)
        q = human.neutral()
        q[2] = 2.0
        runs.append(sim.run(q, t_end=0.2))
    np.testing.assert_allclose(runs[1].z, 2 * runs[0].z, rtol=1e-8)
    assert runs[0].z.max() > 100.0


def test_delay_is_exact(human: hs.Model) -> None:
    """Many pulses on the way: each acts once, at its time to the last bit."""
    muscles = FesMuscles(human, sides=["r"], delay=0.05)
    sent: list[float] = []

    def controller(t: float, state: hs.ControlState) -> np.ndarray:
        k = round(t / 0.007)
        if k % 3 == 2:
            return np.zeros(2)
        sent.append(t)
        return np.array([[0.8 * FULL, 0.0], [0.0, 0.5 * FULL]][k % 3])

    sim, q = leg(human, muscles, controller, control_period=None)
    run = sim.run(q, t_end=0.3, sampling_period=0.007)
    arrived = stimulations(run)
    assert [time for time, _ in arrived] == [t + 0.05 for t in sent if t + 0.05 <= 0.3]
    kinds = ["r_quadriceps", "r_hamstrings"]
    assert [name for _, name in arrived] == [kinds[k % 2] for k in range(len(arrived))]
    assert [t for t, _ in muscles.pending] == [t + 0.05 for t in sent if t + 0.05 > 0.3]
    event = next(e for e in run.events if e.kind == "stimulation")
    assert event.detail["charge [A s]"] == 0.8 * FULL
    expected = muscles.stimulator.recruitment(0.8 * FULL)
    assert event.detail["recruitment"] == expected


def test_pulses_at_chosen_times(human: hs.Model) -> None:
    """A controller's own times, a delay of zero, and several pulses at once."""
    times = [0.0, 0.01, 0.0317]
    muscles = FesMuscles(human, sides=["r"], delay=0.0)
    sim, q = leg(human, muscles, pulses_at(times, [FULL, 0.5 * FULL]))
    run = sim.run(q, t_end=0.1)
    stimulated = [(t, n) for t in np.cumsum([0, *np.diff(times)]) for n in "qh"]
    received = [(t, name[2]) for t, name in stimulations(run)]
    assert received == stimulated
    again = sim.run(q, t_end=0.1)
    np.testing.assert_array_equal(again.z, run.z)
    assert stimulations(again) == stimulations(run)


def test_zero_leaves_a_muscle_alone(human: hs.Model) -> None:
    """Calcium of the muscle without a pulse stays; the other one's goes its way."""
    muscles = FesMuscles(human, sides=["r"], delay=0.01)
    sim, q = leg(human, muscles)
    stepper = sim.start(q)
    stepper.command(np.array([FULL, 0.0]))
    stepper.command(np.zeros(2))
    assert len(muscles.pending) == 1

    def look(t: float) -> tuple:
        stepper.advance(t)
        return muscles.states(stepper.t, stepper.q, stepper.v, stepper.z)

    front, back = look(0.009)
    assert front.calcium_state == back.calcium_state == RELAXED
    assert front.next_calcium_switch == math.inf and front.recruitment == 0.0
    front, back = look(0.02)
    assert (front.calcium_state, back.calcium_state) == (STIMULATED, RELAXED)
    assert front.next_calcium_switch == 0.01 + 0.02
    assert front.recruitment == 1.0 and front.command_signal == 5.0
    front, back = look(0.036)
    assert (front.calcium_state, back.calcium_state) == (DECLINING, RELAXED)
    assert front.recruitment == 1.0
    assert front.command_signal == pytest.approx(-1.0, abs=1e-9)
    front, back = look(0.05)
    assert front.calcium_state == RELAXED and front.recruitment == 0.0
    assert front.contractile_force > 10.0 and back.contractile_force == 0.0


class Metered(Actuation):
    """An actuation and, as one more state, the work it has done [J]."""

    def __init__(self, inner: FesMuscles) -> None:
        """Put a meter on it."""
        self.inner, self.nz = inner, inner.nz + 1

    def initialise(self, t, q, v):  # noqa: D102
        return np.append(self.inner.initialise(t, q, v), 0.0)

    def dynamics(self, t, q, v, z):  # noqa: D102
        force, rates = self.inner.dynamics(t, q, v, z[:-1])
        return force, np.append(rates, force @ v)

    def command(self, t, command):  # noqa: D102
        self.inner.command(t, command)

    def detect(self, t, q, v, z):  # noqa: D102
        return self.inner.detect(t, q, v, z[:-1])

    def next_time(self, t):  # noqa: D102
        return self.inner.next_time(t)

    def handle(self, t, q, v, z, fired):  # noqa: D102
        own, events = self.inner.handle(t, q, v, z[:-1], fired)
        return np.append(own, z[-1]), events

    def reset(self, t, q, v, z):  # noqa: D102
        return np.append(self.inner.reset(t, q, v, z[:-1]), z[-1])


def test_energy_of_a_swinging_leg(human: hs.Model) -> None:
    """What the muscles put into the knee is what the leg gains."""
    pulses = pulses_at([0.0, 0.1, 0.3, 0.33, 0.36], [0.8 * FULL, 0.4 * FULL])
    metered = Metered(FesMuscles(human, sides=["r"]))
    options = {"rtol": 1e-11, "atol": 1e-13}
    sim, q = leg(human, metered, pulses, angle=-1.2, contacts=UNLIMITED, **options)
    run = sim.run(q, t_end=0.6, sampling_period=0.05)
    energy, work = run.energy.sum(axis=1), run.z[:, -1]
    gained = energy - energy[0]
    assert np.abs(gained).max() > 1.0
    np.testing.assert_allclose(gained, work, rtol=0, atol=1e-8 * np.abs(gained).max())


def test_leg_against_extended_precision(human: hs.Model) -> None:
    """The coupled motion of one knee and two muscles, written on its own."""
    joint, end, angle = knee_index(human), 0.4, -1.0
    shares = [(0.05, 0.7), (0.09, 1.0), (0.2, 0.3)]
    charges = [Stimulator().charge(share) for _, share in shares]
    left = list(zip(charges, [0.04, 0.11, 1e3], strict=True))

    def pulses(t: float, state: hs.ControlState) -> hs.CommandWithNextCall:
        charge, wait = left.pop(0)
        return hs.CommandWithNextCall(np.array([charge, 0.5 * charge]), wait)

    muscles = FesMuscles(human, sides=["r"])
    sim, q = leg(
        human, muscles, pulses, angle, contacts=UNLIMITED, rtol=1e-12, atol=1e-13
    )
    run = sim.run(q, t_end=end)

    # gravity turns the shank by a sine of its angle: two postures show which
    real, still = reference.Real, np.zeros(human.nv)
    inertia = real(human.inertia(q)[6 + joint, 6 + joint])
    upright, bent = q.copy(), q.copy()
    upright[7 + joint], bent[7 + joint] = 0.0, math.pi / 2
    cosine = -real(human.nl_effects(upright, still)[6 + joint])
    sine = -real(human.nl_effects(bent, still)[6 + joint])
    knee = KneeGeometry()
    r, top, low = real(knee.radius), real(knee.origin), real(0.05)
    slack = np.sqrt(top**2 - r**2) + np.sqrt(low**2 - r**2)
    slack += r * (np.arcsin(r / top) + np.arcsin(r / low))
    trains = [
        [
            (time, Stimulator().recruitment(part * charge))
            for (time, _), charge in zip(shares, charges, strict=True)
        ]
        for part in (1.0, 0.5)
    ]

    def both(t: np.longdouble, y: np.ndarray, middle: np.longdouble) -> list:
        bend, speed = -y[0], -y[1]
        far = np.sqrt(top**2 + low**2 + 2 * top * low * np.cos(bend))
        paths = [(slack + r * bend, r), (far, -top * low * np.sin(bend) / far)]
        contractions = []
        for i, muscle in enumerate((QUADRICEPS, HAMSTRINGS)):
            length, arm = paths[i]
            rest = real(muscle.length)
            u, share = reference.signal(t, trains[i], middle)
            strain, rate = length / rest - 1, arm * speed / rest
            state = y[2 + i], y[4 + i]
            contractions.append(
                (*reference.contract(muscle, strain, rate, u, share, *state), arm)
            )
        return contractions

    def rates(t: np.longdouble, y: np.ndarray, middle: np.longdouble) -> np.ndarray:
        (_, k1, f1, arm1), (_, k2, f2, arm2) = both(t, y, middle)
        flexing = -y[4] * arm1 - y[5] * arm2 + real(knee.viscosity) * y[1]
        weight = cosine * np.cos(y[0]) + sine * np.sin(y[0])
        return np.array([y[1], (weight - flexing) / inertia, k1, k2, f1, f2])

    state, turned = reference.integrate(
        rates,
        lambda t, y, middle: np.array([row[0] for row in both(t, y, middle)]),
        (angle, 0, 0, 0, 0, 0),
        reference.kinks(trains[0]),
        end,
        4e-4,
    )
    contractions = (run.q[-1, 7 + joint], run.v[-1, 6 + joint], *run.z[-1])
    np.testing.assert_allclose(contractions, state.astype(float), rtol=1e-8)
    # pulses make switches of their own, at their own times
    switches = [
        (event.time, muscles.muscle_names.index(event.subject))
        for event in run.events
        if event.kind == "contractile_switch"
        and 1e-9 < event.time
        and not any(event.time == t for t, _ in stimulations(run))
    ]
    assert len(switches) == len(turned) >= 2
    for (time, muscle), (expected, which) in zip(switches, turned, strict=True):
        assert muscle == which
        assert time == pytest.approx(float(expected), abs=1e-9)


def test_reset_after_an_impact(human: hs.Model) -> None:
    """The knee hits its limit: the contractile parts turn round with it."""
    muscles = FesMuscles(human, sides=["r"])
    sim, q = leg(
        human, muscles, angle=-0.3, contacts=hs.Contacts(limit_restitution=0.8)
    )
    stepper = sim.start(q)
    t = 0.0
    while not any(e.kind == "impact" for e in stepper.events):
        t += 0.002
        stepper.advance(t)
        before = [s.contractile_direction for s in _states(muscles, stepper)]
        if not any(e.kind == "impact" for e in stepper.events):
            kept = before
    # quadriceps was shortening, and is stretched by the rebound
    assert kept[0] == -1 and before[0] == 1
    for state in _states(muscles, stepper):
        assert state.contractile_strain_rate * state.contractile_direction >= 0.0


def _states(muscles: FesMuscles, stepper) -> tuple:  # type: ignore[no-untyped-def]
    return muscles.states(stepper.t, stepper.q, stepper.v, stepper.z)


def test_no_events_at_rest(human: hs.Model) -> None:
    """A locked, relaxed knee does nothing, and neither do its muscles."""
    sim = hs.Simulation(human, FesMuscles(human), locked=["*", "base"])
    q = human.neutral()
    q[2] = 2.0
    run = sim.run(q, t_end=1.0, sampling_period=0.1)
    assert run.events == () and not run.z.any()


def test_few_events_in_tetanus(human: hs.Model) -> None:
    """Held stimulated without moving: one event a pulse, two switches in all."""
    muscles = FesMuscles(human, {"quadriceps": QUADRICEPS}, ["r"])
    sim = hs.Simulation(
        human,
        muscles,
        lambda t, state: np.array([FULL]),
        locked=["*", "base"],
        control_period=0.02,
    )
    q = human.neutral()
    q[2] = 2.0
    run = sim.run(q, t_end=1.0, sampling_period=0.1)
    kinds = [event.kind for event in run.events]
    assert kinds.count("stimulation") == 48
    assert kinds.count("contractile_switch") == 1
    assert run.z[-1, 1] > 400.0


def test_time_stepping(human: hs.Model) -> None:
    """The other method gets there too, with an error of the order of its step."""
    pulses = pulses_at([0.0, 0.03, 0.06], [FULL, 0.3 * FULL])
    errors = []
    exact, q = leg(human, FesMuscles(human, sides=["r"]), pulses)
    expected = exact.run(q, t_end=0.3)
    for step in (2e-3, 1e-3, 5e-4):
        muscles = FesMuscles(human, sides=["r"])
        sim, q = leg(human, muscles, pulses, method="time_stepping", time_step=step)
        run = sim.run(q, t_end=0.3)
        assert stimulations(run)[0][0] == pytest.approx(0.05, abs=1e-12)
        assert len(stimulations(run)) == len(stimulations(expected)) == 6
        errors.append(np.abs(run.z[-1, 2:] - expected.z[-1, 2:]).max())
    assert errors[0] < 2.0 and errors[2] < 0.6 * errors[1] < 0.4 * errors[0]


def test_together_with_torques(human: hs.Model) -> None:
    """Muscles at the knees, torques elsewhere: both act."""
    muscles = FesMuscles(human, delay=0.01)
    both = CompositeActuation([IdealTorque(human), muscles])
    sim = hs.Simulation(human, both, ground=hs.Ground.empty(), gravity=[0, 0, 0])
    torques = np.zeros(len(human.joint_names))
    torques[-1] = 0.1
    q = human.neutral()
    q[7 + knee_index(human)] = -0.5
    stepper = sim.start(q)
    stepper.command([torques, np.array([FULL, 0.0, 0.0, 0.0])])
    stepper.advance(0.06)
    assert stepper.z[4] > 10.0
    assert stepper.v[6 + knee_index(human)] > 0.1
    assert stepper.v[-1] > 0.01


def test_bad_input(human: hs.Model) -> None:
    """Pulses that are none, muscles and joints that are not there: refused."""
    muscles = FesMuscles(human)
    for wrong in (np.zeros(3), [np.nan, 0, 0, 0], [np.inf, 0, 0, 0]):
        with pytest.raises(hs.errors.ParameterError, match="4 finite"):
            muscles.command(0.0, wrong)
    for pulse in (-1e-6, 1.1 * FULL):
        with pytest.raises(hs.errors.ParameterError, match="l_quadriceps"):
            muscles.command(0.0, [0.0, 0.0, pulse, 0.0])
    assert muscles.pending == ()
    with pytest.raises(hs.errors.ParameterError, match="soleus"):
        FesMuscles(human, {"soleus": QUADRICEPS})
    with pytest.raises(hs.errors.ParameterError, match="x_knee"):
        FesMuscles(human, sides=["x"])
    with pytest.raises(hs.errors.ParameterError, match="once"):
        FesMuscles(human, sides=["r", "r"])
    with pytest.raises(hs.errors.ParameterError, match="flexion_sign"):
        FesMuscles(human, flexion_sign=0)
    with pytest.raises(hs.errors.ParameterError, match="delay"):
        FesMuscles(human, delay=-0.1)


def test_a_muscle_without_a_solution(human: hs.Model) -> None:
    """Named with its parameter, through the integrator of a simulation, too."""
    soft = MuscleParameters(series_stiffness=10.0, stiffness=10.0)
    sim, q = leg(human, FesMuscles(human, {"quadriceps": soft}, ["r"]))
    stepper = sim.start(q)
    stepper.z[1] = 100.0
    with pytest.raises(MuscleError, match="r_quadriceps.*series_stiffness"):
        stepper.advance(0.01)
