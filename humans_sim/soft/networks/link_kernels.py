# SPDX-License-Identifier: Apache-2.0
"""The loop of a network: forces of all links, then motion of all masses.

Plain springs with dampers have a loop of their own; conditional links run through the
table of their automata.

Networks are given as tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from humans_sim.core.kernels import kernel
from humans_sim.soft.networks.laws import VARIABLES, Automaton, LinkLaw
from humans_sim.soft.networks.network import Network


class MassTable(NamedTuple):
    """Attributes: gain: T² / m, 0 for masses that are held (n,); weight: (n, 3) [N]."""

    gain: np.ndarray
    weight: np.ndarray


class SpringTable(NamedTuple):
    """Plain links: ends (m, 2), numbers (m, 3), reaction (m,).

    Numbers are stiffness, viscosity / period [N/m] and rest length [m]; reaction is 1,
    or 0 where the first mass feels nothing.
    """

    ends: np.ndarray
    numbers: np.ndarray
    reaction: np.ndarray


class StateTable(NamedTuple):
    """States of all automata.

    Attributes:
        numbers: stiffness, viscosity / period, rest, limit, hardening, potential
            (s, 6).
        kinds: anchored, sign, first transition, end of transitions (s, 4).
        choices: target, variable, above (t, 3).
        thresholds: of the transitions (t,); rates are per period.
    """

    numbers: np.ndarray
    kinds: np.ndarray
    choices: np.ndarray
    thresholds: np.ndarray


class ConditionalTable(NamedTuple):
    """Conditional links. Attributes: ends (m, 2); reaction (m,); states: a table."""

    ends: np.ndarray
    reaction: np.ndarray
    states: StateTable


class LinkMemory(NamedTuple):
    """The memory of plain links and conditional ones.

    Distances of both one sample ago (m,), (c,) [m]; of conditional links their state
    (c,), rest length and distance yielded (c, 2) [m].
    """

    springs: np.ndarray
    distances: np.ndarray
    state: np.ndarray
    rest: np.ndarray


class Motion(NamedTuple):
    """Attributes: now, before: positions (n, 3) [m]; force: on masses (n, 3) [N]."""

    now: np.ndarray
    before: np.ndarray
    force: np.ndarray


@kernel(inline="always")
def _line(x, i, j):
    """From one mass to another, and how far that is."""
    a, b, c = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
    return (a, b, c), np.sqrt(a * a + b * b + c * c)


@kernel(inline="always")
def _act(force, i, j, line, push, back):
    """Push the mass at the end of a line along it, and the one at its start back."""
    for k in range(3):
        force[j, k] += push * line[k]
        force[i, k] -= back * line[k]


@kernel(error_model="numpy")
def add_springs(table, x, last, force):
    """Add the forces of plain links; their distances are kept in ``last``."""
    ends, numbers, reaction = table.ends, table.numbers, table.reaction
    for link in range(ends.shape[0]):
        i, j = np.uint64(ends[link, 0]), np.uint64(ends[link, 1])
        line, d = _line(x, i, j)
        pull = numbers[link, 0] * (d - numbers[link, 2])
        pull += numbers[link, 1] * (d - last[link])
        last[link] = d
        pull = -pull / d if d > 0.0 else 0.0
        _act(force, i, j, line, pull, pull * reaction[link])


@kernel(inline="always")
def state_force(row, sign, rest, yielded, d, rate):
    """Force of a state, with rest length and distance yielded where it yields [m].

    Of numbers of the state (6,), signs that it may have (0: both), the distance, and
    what it gained in this sample [m].
    """
    k = row[0]
    elastic = -k * (d - rest)
    limit = row[3] + row[4] * yielded
    if abs(elastic) > limit:
        excess = (abs(elastic) - limit) / (k + row[4])
        rest += -excess if elastic > 0.0 else excess
        yielded += excess
        elastic = -k * (d - rest)
    total = elastic - row[1] * rate
    if sign * total < 0.0:
        total = 0.0
    return total, rest, yielded


@kernel
def next_state(states, state, rest, d, rate):
    """State after all transitions of one sample, its rest length, and whether new."""
    numbers, kinds = states.numbers, states.kinds
    choices, thresholds = states.choices, states.thresholds
    fresh = False
    for _ in range(numbers.shape[0]):
        entered = -1
        for row in range(kinds[state, 2], kinds[state, 3]):
            variable = choices[row, 1]
            if variable == 0:
                value = d
            elif variable == 2:
                value = rate
            else:
                value = -numbers[state, 0] * (d - rest) - numbers[state, 1] * rate
            threshold = thresholds[row]
            if choices[row, 2] == 1:
                passed = value > threshold
            else:
                passed = value < threshold
            if passed:
                entered = choices[row, 0]
                break
        if entered < 0:
            break
        state, fresh = entered, True
        rest = d if kinds[state, 0] == 1 else numbers[state, 2]
    return state, rest, fresh


@kernel
def forces_at_rest(states, distances):
    """Forces of a law at distances without a rate, positive outwards (n,) [N]."""
    last = len(states.numbers) - 1
    out = np.empty(len(distances))
    for i in range(len(distances)):
        first = states.numbers[last, 2]
        state, rest, _ = next_state(states, last, first, distances[i], 0.0)
        out[i] = -states.numbers[state, 0] * (distances[i] - rest)
    return out


@kernel(error_model="numpy")
def add_conditional(table, x, memory, force):
    """Add the forces of conditional links, and move their automata."""
    ends, reaction, states = table.ends, table.reaction, table.states
    numbers, kinds = states.numbers, states.kinds
    distances, memory_state, memory_rest = memory.distances, memory.state, memory.rest
    for link in range(ends.shape[0]):
        i, j = ends[link, 0], ends[link, 1]
        line, d = _line(x, i, j)
        rate = d - distances[link]
        distances[link] = d
        state, rest = memory_state[link], memory_rest[link, 0]
        yielded = memory_rest[link, 1]
        state, rest, fresh = next_state(states, state, rest, d, rate)
        if fresh:
            memory_state[link], yielded = state, 0.0
        push, rest, yielded = state_force(
            numbers[state], kinds[state, 1], rest, yielded, d, rate
        )
        memory_rest[link, 0], memory_rest[link, 1] = rest, yielded
        push = push / d if d > 0.0 else 0.0
        _act(force, i, j, line, push, push * reaction[link])


@kernel(error_model="numpy")
def add_pairs(pairs, states, first, motion):
    """Add the forces of pairs of masses (p, 2) whose state follows from the distance.

    Transitions are tried from the first state of the law's table.
    """
    x, before, force = motion
    numbers, kinds = states.numbers, states.kinds
    for row in range(pairs.shape[0]):
        i, j = pairs[row, 0], pairs[row, 1]
        line, d = _line(x, i, j)
        rate = d - _line(before, i, j)[1]
        state, rest, _ = next_state(states, first, numbers[first, 2], d, rate)
        push, _, _ = state_force(numbers[state], kinds[state, 1], rest, 0.0, d, rate)
        push = push / d if d > 0.0 else 0.0
        _act(force, i, j, line, push, push)


@kernel
def add_floor(floor, motion):
    """Add a visco-elastic stop below a height: height, stiffness, viscosity / T."""
    height, k, z = floor[0], floor[1], floor[2]
    x, before, force = motion
    for i in range(x.shape[0]):
        if x[i, 2] < height:
            force[i, 2] -= k * (x[i, 2] - height) + z * (x[i, 2] - before[i, 2])


@kernel
def move_masses(masses, motion):
    """(1.6): positions of the next sample; forces begin anew with the weights."""
    x, before, force = motion
    for i in range(x.shape[0]):
        gain = masses.gain[i]
        if gain > 0.0:
            for axis in range(3):
                new = 2.0 * x[i, axis] - before[i, axis] + gain * force[i, axis]
                before[i, axis] = x[i, axis]
                x[i, axis] = new
        for axis in range(3):
            force[i, axis] = masses.weight[i, axis]


@kernel
def drive_masses(driven, positions, motion):
    """Set the positions of driven masses for the next sample."""
    for row in range(driven.shape[0]):
        i = driven[row]
        for axis in range(3):
            motion.before[i, axis] = motion.now[i, axis]
            motion.now[i, axis] = positions[row, axis]


def state_table(automata: Sequence[Automaton], period: float) -> StateTable:
    """One table of the states of all automata, one after the other."""
    numbers: list[list[float]] = []
    kinds: list[list[int]] = []
    choices: list[list[int]] = []
    thresholds: list[float] = []
    for automaton in automata:
        base = len(numbers)
        for state in automaton.states:
            viscosity = state.viscosity / period
            numbers.append([state.stiffness, viscosity, state.rest, state.limit])
            numbers[-1] += [state.hardening, state.potential]
            first = len(choices)
            for transition in state.transitions:
                variable = VARIABLES.index(transition.variable)
                choices.append([base + transition.target, variable, transition.above])
                scale = period if transition.variable == "rate" else 1.0
                thresholds.append(transition.threshold * scale)
            kinds.append([int(state.anchored), state.sign, first, len(choices)])
    return StateTable(
        np.array(numbers, dtype=float).reshape(-1, 6),
        np.array(kinds, dtype=np.int64).reshape(-1, 4),
        np.array(choices, dtype=np.int64).reshape(-1, 3),
        np.array(thresholds, dtype=float),
    )


def is_plain(law: LinkLaw) -> bool:
    """Whether a law has one state that neither yields nor clamps."""
    states = law.automaton().states
    first = states[0]
    return len(states) == 1 and not (
        np.isfinite(first.limit) or first.anchored or first.sign or first.transitions
    )


def link_tables(
    network: Network, period: float, before: np.ndarray
) -> tuple[SpringTable, ConditionalTable, LinkMemory]:
    """Tables of all links, with what they remember of the positions before (n, 3)."""
    plain = [link for link in network.links if is_plain(link.law)]
    others = [link for link in network.links if not is_plain(link.law)]
    numbers = np.empty((len(plain), 3))
    for row, link in enumerate(plain):
        state = link.law.automaton().states[0]
        numbers[row] = state.stiffness, state.viscosity / period, state.rest
    ends = [_ends([link.ends for link in group]) for group in (plain, others)]
    one_way = [
        np.array([0.0 if link.one_way else 1.0 for link in group])
        for group in (plain, others)
    ]
    laws = list(dict.fromkeys(link.law for link in others))
    automata = [law.automaton() for law in laws]
    sizes = np.cumsum([0, *(len(automaton.states) for automaton in automata)])
    begin = {law: int(sizes[row]) for row, law in enumerate(laws)}
    states = state_table(automata, period)
    begun = np.array([begin[link.law] for link in others], dtype=np.int64)
    distances = [
        np.linalg.norm(before[pair[:, 1]] - before[pair[:, 0]], axis=1) for pair in ends
    ]
    rest = np.zeros((len(others), 2))
    if others:
        anchored = states.kinds[begun, 0] == 1
        rest[:, 0] = np.where(anchored, distances[1], states.numbers[begun, 2])
    return (
        SpringTable(ends[0], numbers, one_way[0]),
        ConditionalTable(ends[1], one_way[1], states),
        LinkMemory(distances[0], distances[1], begun, rest),
    )


def _ends(pairs: Sequence[Sequence[int | None]]) -> np.ndarray:
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)
