# SPDX-License-Identifier: Apache-2.0
"""Knee muscles under functional electrical stimulation (manual 1.2, chapter 6).

Their whole right-hand side is one compiled call.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from humans_sim.actuation.delayed_actuation import DelayedActuation, StateSignal
from humans_sim.actuation.muscle import (
    GUARD,
    HAMSTRINGS,
    PATHS,
    QUADRICEPS,
    RELAXED,
    CommandClocks,
    CommandSignal,
    ContractilePart,
    KneeGeometry,
    MuscleError,
    MuscleParameters,
    Stimulator,
    command_sizes,
    command_value,
    contraction,
    force_length,
    parallel_spring,
    path_length,
)
from humans_sim.core.errors import ParameterError
from humans_sim.core.kernels import kernel
from humans_sim.models import Model
from humans_sim.results.records import Event, Signal

SIGNAL, LENGTH, RATE, STRAIN_RATE, FORCE, TORQUE, NUMERATOR, DENOMINATOR = range(8)
"""Columns of what :func:`evaluate` finds about each muscle."""


class MuscleTable(NamedTuple):
    """The n muscles of a body.

    Attributes:
        joints: index of each muscle's joint among the joints (n,).
        signs: +1 where its angle is the flexion, -1 where it is the opposite (n,).
        kinds: paths of the muscles (n,).
        paths: their numbers (n, 2).
        rows: parameters of the muscles (n, 7).
        viscosity: of all coordinates (nv,) [N m s/rad].
    """

    joints: np.ndarray
    signs: np.ndarray
    kinds: np.ndarray
    paths: np.ndarray
    rows: np.ndarray
    viscosity: np.ndarray


class Stimulation(NamedTuple):
    """The stimulation of n muscles, without their states.

    Attributes:
        phase: of the command signals (n,).
        falls: when these fall (n,) [s].
        shape: their shape (3,).
        recruitment: (n,).
        switches: S (n,).
    """

    phase: np.ndarray
    falls: np.ndarray
    shape: np.ndarray
    recruitment: np.ndarray
    switches: np.ndarray


@kernel
def evaluate(
    t: float,
    q: np.ndarray,
    v: np.ndarray,
    z: np.ndarray,
    muscles: tuple[np.ndarray, ...],
    stimulation: tuple[np.ndarray, ...],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Generalised force (nv,), rates of z = [k_c, F_c] (2 n,), and values between."""
    joints, signs, kinds, paths, rows, viscosity = muscles
    phase, falls, shape, recruitment, switches = stimulation
    n = joints.shape[0]
    force, rates, values = -viscosity * v, np.empty(2 * n), np.empty((n, 8))
    for i in range(n):
        joint, sign, row = joints[i], signs[i], rows[i]
        length, arm = path_length(kinds[i], sign * q[7 + joint], paths[i])
        strain = length / row[6] - 1.0
        strain_rate = arm * sign * v[6 + joint] / row[6]
        u = command_value(t, phase[i], falls[i], shape)
        size, positive = command_sizes(u, phase[i])
        drive = recruitment[i] * positive
        numerator, denominator, rate, rates[i], rates[n + i] = contraction(
            strain,
            strain_rate,
            ContractilePart(z[i], z[n + i], switches[i]),
            size,
            drive,
            row,
        )
        pull = z[n + i] + parallel_spring(strain, row)
        torque = -sign * pull * arm
        force[6 + joint] += torque
        values[i, SIGNAL], values[i, LENGTH] = u, length
        values[i, RATE], values[i, STRAIN_RATE] = rate, strain_rate
        values[i, FORCE], values[i, TORQUE] = pull, torque
        values[i, NUMERATOR], values[i, DENOMINATOR] = numerator, denominator
    return force, rates, values


STIMULATION = "stimulation"
CONTRACTILE_SWITCH = "contractile_switch"
"""Kinds of events."""
THIGH = {"quadriceps": QUADRICEPS, "hamstrings": HAMSTRINGS}


@dataclass(frozen=True)
class MuscleState:
    """One muscle at one time; the message of the same name has the same fields.

    Attributes:
        calcium_state: RELAXED, DECLINING or STIMULATED.
        next_calcium_switch: when that changes; infinity where nothing is due [s].
        command_signal: u [1/s].
        recruitment: alpha, 0 to 1.
        length: of the whole muscle [m].
        strain: of the whole muscle.
        strain_rate: [1/s].
        contractile_direction: S, -1 shortening or +1 stretching.
        contractile_strain_rate: [1/s].
        contractile_stiffness: k_c [N/m].
        contractile_force: F_c, the force of the series spring too [N].
        force: of the whole muscle, tension positive [N].
        torque: on its joint [N m].
    """

    name: str
    joint_name: str
    calcium_state: int
    next_calcium_switch: float
    command_signal: float
    recruitment: float
    length: float
    strain: float
    strain_rate: float
    contractile_direction: int
    contractile_strain_rate: float
    contractile_stiffness: float
    contractile_force: float
    force: float
    torque: float


class MusclePowers(NamedTuple):
    """Where the power of the muscles goes, each (n,) [W].

    ``joint + stored + contractile = 0``.

    Attributes:
        joint: into the joint.
        stored: into the series and the parallel springs.
        contractile: into the contractile parts; negative where they do work.
    """

    joint: np.ndarray
    stored: np.ndarray
    contractile: np.ndarray


class FesMuscles(DelayedActuation):
    """Quadriceps and hamstrings of the knees, driven by stimulation pulses.

    A command is a pulse for each muscle, its width times its current (nmuscles,)
    [A s]; zero leaves a muscle alone. It acts exactly after the delay, a later pulse on
    a muscle begins its stimulation anew. States are z = [k_c, F_c].

    Events of the kinds ``stimulation`` and ``contractile_switch`` are recorded.

    Args:
        muscles: parameters of ``quadriceps`` and ``hamstrings``, or of one of them; the
            manual's by default.
        sides: whose knees.
        scale: cross-section of all muscles, relative to these parameters.
        delay: from a command to its effect [s].
        geometry: of the knees.
        signal: shape of the command signal.
        stimulator: the largest pulse.
        joint: name of a side's knee in the model.
        flexion_sign: +1 where a knee's angle grows with flexion, -1 where it falls; by
            default the side on which the knee's limits leave more room.
    """

    KIND = "muscles"
    SIGNALS = (
        StateSignal("calcium_state", "calcium_state", "1"),
        StateSignal("next_calcium_switch", "next_calcium_switch", "s"),
        StateSignal("u", "command_signal", "1/s"),
        StateSignal("alpha", "recruitment", "1"),
        StateSignal("S", "contractile_direction", "1"),
        StateSignal("k_c", "contractile_stiffness", "N/m"),
        StateSignal("F_c", "contractile_force", "N"),
        StateSignal("torque", "torque", "N m"),
    )

    def __init__(
        self,
        model: Model,
        muscles: Mapping[str, MuscleParameters] | None = None,
        sides: Sequence[str] = ("r", "l"),
        *,
        scale: float = 1.0,
        delay: float = 0.05,
        geometry: KneeGeometry | None = None,
        signal: CommandSignal | None = None,
        stimulator: Stimulator | None = None,
        joint: str = "{side}_knee",
        flexion_sign: int | None = None,
    ) -> None:
        chosen = THIGH if muscles is None else muscles
        for name in chosen:
            if name not in PATHS:
                raise ParameterError(
                    f"there is no muscle '{name}'; there are {', '.join(PATHS)}"
                )
        if not chosen or not sides or len(set(sides)) != len(sides):
            raise ParameterError("muscles and sides must name something, once")
        self.joint_names = tuple(joint.format(side=side) for side in sides)
        for name in self.joint_names:
            if name not in model.joint_names:
                raise ParameterError(f"{model.name} has no joint '{name}'")
        knees = [model.joint_names.index(name) for name in self.joint_names]
        self.muscle_names = tuple(f"{s}_{name}" for s in sides for name in chosen)
        self.parameters = tuple(p.scaled(scale) for _ in sides for p in chosen.values())
        n = len(self.muscle_names)
        super().__init__(self.muscle_names, "stimulation pulses [A s]", delay)
        self.nz = 2 * n
        self.z_names = (
            *(f"{name}/stiffness" for name in self.muscle_names),
            *(f"{name}/force" for name in self.muscle_names),
        )
        self.geometry = KneeGeometry() if geometry is None else geometry
        self.stimulator = Stimulator() if stimulator is None else stimulator
        self._knees = np.array(knees, dtype=np.int64)
        self.knee_of = tuple(np.repeat(np.arange(len(knees)), len(chosen)).tolist())
        signs = [_flexion_sign(model, j, flexion_sign) for j in knees]
        if self.geometry.viscosity:
            self.frictional_joints = self.joint_names
        viscosity = np.zeros(model.nv)
        viscosity[6 + self._knees] = self.geometry.viscosity
        self._table = MuscleTable(
            joints=np.repeat(self._knees, len(chosen)),
            signs=np.repeat(np.array(signs), len(chosen)),
            kinds=np.array([PATHS[name] for _ in sides for name in chosen]),
            paths=np.array(
                [self.geometry.path(name) for _ in sides for name in chosen]
            ),
            rows=np.array([p.row() for p in self.parameters]),
            viscosity=viscosity,
        )
        self._muscles = tuple(self._table)
        self.signal = CommandSignal() if signal is None else signal
        self._clocks = CommandClocks(n, self.signal)
        self._recruitment, self._switches = np.zeros(n), np.ones(n)
        self._charges = np.zeros(n)
        self._happened: list[Event] = []

    def check(self, command: Any) -> np.ndarray:
        """A command as an array, refused where a pulse is not one."""
        pulses = super().check(command)
        for name, pulse in zip(self.muscle_names, pulses, strict=True):
            try:
                self.stimulator.recruitment(pulse)
            except ParameterError as error:
                raise ParameterError(f"{name}: {error}") from None
        return pulses

    def initialise(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Relaxed muscles without force."""
        self._clocks.relax()
        self._recruitment[:], self._switches[:] = 0.0, 1.0
        self._charges[:] = 0.0
        z = super().initialise(t, q, v)
        self._renew_switches(t, q, v, z)
        return z

    def command(self, t: float, command: Any) -> None:
        """Send pulses on their way; they act at t + delay."""
        pulses = self.check(command)
        if pulses.any():
            self._queue.append((t + self.delay, pulses))

    def apply(self, t: float, command: np.ndarray) -> None:
        """Stimulate the muscles that have a pulse."""
        for i in np.flatnonzero(command):
            self._clocks.stimulate(int(i), t)
            self._recruitment[i] = self.stimulator.recruitment(command[i])
            self._charges[i] = command[i]
            detail: dict[str, float | str] = {
                "charge [A s]": float(command[i]),
                "recruitment": float(self._recruitment[i]),
            }
            self._happened.append(Event(t, STIMULATION, self.muscle_names[i], detail))

    def dynamics(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Torques of the muscles and of the knees' friction; rates of z."""
        force, rates, values = self._evaluate(t, q, v, z)
        i = int(np.argmin(values[:, DENOMINATOR]))
        if not values[i, DENOMINATOR] > 0.0:
            n, name = len(self.muscle_names), self.muscle_names[i]
            raise MuscleError(
                f"{name} has no unique motion: k_s L_c0 + k_c L_c0 - S F_c = "
                f"{values[i, DENOMINATOR]:.3g} N must be above zero (k_c {z[i]:.4g} "
                f"N/m, F_c {z[n + i]:.4g} N); give it a larger series_stiffness"
            )
        return force, rates

    def _evaluate(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        clocks = self._clocks
        stimulation = (
            clocks.phase,
            clocks.falls,
            clocks.shape,
            self._recruitment,
            self._switches,
        )
        return evaluate(t, q, v, z, self._muscles, stimulation)

    def detect(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """Negative where a contractile part has turned round (n,) [N/s]."""
        numerator = self._evaluate(t, q, v, z)[2][:, NUMERATOR]
        return self._switches * numerator + GUARD

    def next_time(self, t: float) -> float:
        """The next pulse, or kink of a command signal [s]."""
        return min(super().next_time(t), self._clocks.next_time())

    def handle(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray, fired: np.ndarray
    ) -> tuple[np.ndarray, Sequence[Event]]:
        """Contractile switches, clock ticks, pulses (manual 6.4.2)."""
        before, self._happened = self._switches.copy(), []
        self._switches[fired] *= -1.0
        self._clocks.tick(t)
        relaxed = self._clocks.calcium_states() == RELAXED
        self._recruitment[relaxed] = self._charges[relaxed] = 0.0
        super().handle(t, q, v, z, fired)
        self._renew_switches(t, q, v, z)
        for i in np.flatnonzero(self._switches != before):
            detail = {"S": float(self._switches[i])}
            name = self.muscle_names[i]
            self._happened.append(Event(t, CONTRACTILE_SWITCH, name, detail))
        return z, self._happened

    def reset(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """After a jump of the velocity the contractile parts may turn round."""
        self._renew_switches(t, q, v, z)
        return z

    def _renew_switches(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> None:
        """S from the numerator; where that is zero, as it was."""
        numerator = self._evaluate(t, q, v, z)[2][:, NUMERATOR]
        clear = np.abs(numerator) > GUARD
        self._switches[clear] = np.sign(numerator[clear])

    def states(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[MuscleState, ...]:
        """Everything about each muscle."""
        values, n = self._evaluate(t, q, v, z)[2], len(self.muscle_names)
        calcium, due = self._clocks.calcium_states(), self._clocks.next_switches()
        joints = np.repeat(self.joint_names, n // len(self.joint_names))
        return tuple(
            MuscleState(
                name=self.muscle_names[i],
                joint_name=str(joints[i]),
                calcium_state=int(calcium[i]),
                next_calcium_switch=float(due[i]),
                command_signal=float(values[i, SIGNAL]),
                recruitment=float(self._recruitment[i]),
                length=float(values[i, LENGTH]),
                strain=float(values[i, LENGTH] / self.parameters[i].length - 1.0),
                strain_rate=float(values[i, STRAIN_RATE]),
                contractile_direction=int(self._switches[i]),
                contractile_strain_rate=float(values[i, RATE]),
                contractile_stiffness=float(z[i]),
                contractile_force=float(z[n + i]),
                force=float(values[i, FORCE]),
                torque=float(values[i, TORQUE]),
            )
            for i in range(n)
        )

    def signals(self) -> tuple[Signal, ...]:
        """Those of every actuation; pulses that act, and those that act next."""
        words = ("charge", "next_charge")
        pulses = [(name, word) for name in self.muscle_names for word in words]
        own = (Signal(f"{self.KIND}/{name}/{word}", "A s") for name, word in pulses)
        return (*super().signals(), *own)

    def signal_values(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """The numbers of :meth:`signals`."""
        waiting = self._queue[0][1] if self._queue else np.zeros(len(self._charges))
        pulses = np.column_stack([self._charges, waiting]).ravel()
        return np.concatenate([super().signal_values(t, q, v, z), pulses])

    def joint_torques(self, q: np.ndarray, v: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Torques on :attr:`joint_names`, friction included [N m]."""
        return self._evaluate(0.0, q, v, z)[0][6 + self._knees]

    def strongest_torques(self, q: np.ndarray) -> np.ndarray:
        """Torque of each muscle, all fibres recruited for long, at rest (n,) [N m]."""
        gains, table = np.zeros(len(self.muscle_names)), self._table
        for i, muscle in enumerate(self.parameters):
            flexion = table.signs[i] * q[7 + table.joints[i]]
            length, slope = path_length(table.kinds[i], flexion, table.paths[i])
            share = force_length(length / muscle.length - 1.0)
            gains[i] = -table.signs[i] * muscle.force * share * slope
        return gains

    def stored_energies(self, q: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Energy in the springs of each muscle (n,) [J]."""
        still = np.zeros_like(self._table.viscosity)
        return np.array(
            [
                parameters.stored_energy(state.strain, state.contractile_force)
                for parameters, state in zip(
                    self.parameters, self.states(0.0, q, still, z), strict=True
                )
            ]
        )

    def powers(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> MusclePowers:
        """Where the power of each muscle goes; the knees' friction is not in it."""
        _, rates, values = self._evaluate(t, q, v, z)
        n, rows = len(self.muscle_names), self._table.rows
        stretch = values[:, STRAIN_RATE] * rows[:, 6]
        pull, rate = z[n:], rates[n:]
        series = pull * rate / rows[:, 2]
        parallel = (values[:, FORCE] - pull) * stretch
        contractile = pull * rows[:, 5] * values[:, RATE]
        return MusclePowers(-values[:, FORCE] * stretch, series + parallel, contractile)


def _flexion_sign(model: Model, joint: int, given: int | None) -> float:
    if given is not None:
        if given not in (-1, 1):
            raise ParameterError(f"flexion_sign must be 1 or -1, not {given}")
        return float(given)
    room = float(model.upper_limits[joint] + model.lower_limits[joint])
    if not math.isfinite(room) or room == 0.0:
        raise ParameterError(
            f"the limits of {model.joint_names[joint]} do not say which way it "
            "flexes: give flexion_sign"
        )
    return math.copysign(1.0, room)
