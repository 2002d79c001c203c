# SPDX-License-Identifier: Apache-2.0
"""A network as tables for kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from humans_sim.soft.networks.laws import VARIABLES, Automaton, LinkLaw
from humans_sim.soft.networks.link_kernels import (
    ConditionalTable,
    LinkMemory,
    SpringTable,
    StateTable,
)
from humans_sim.soft.networks.network import Network


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
