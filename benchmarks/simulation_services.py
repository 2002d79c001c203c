# SPDX-License-Identifier: Apache-2.0
r"""Uses all standard services of a simulation that runs (simulation_interfaces).

Asks GetSimulatorFeatures, then uses every feature that was told, and checks what it
does: a state that was set is read again, steps advance the clock by their number, a
spawned box falls as bodies fall. A feature without a check fails. Works with any
simulator that has an entity that can move.

Start one, then this, in two terminals:

    python -m humans_sim.nodes dynamics --ros-args \
        --params-file config/params/push-box.yaml \
        -p dynamics:sync:=free -p dynamics:start_paused:=true
    python benchmarks/simulation_services.py
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import rclpy
from simulation_client import HEIGHT, FailureError, SimulationClient, expect
from simulation_interfaces.msg import (
    Bounds,
    EntityCategory,
    Result,
    SimulationState,
    SimulatorFeatures,
    TagsFilter,
)
from simulation_interfaces.srv import (
    DeleteEntity,
    GetEntitiesStates,
    GetEntityBounds,
    GetEntityInfo,
    GetEntityState,
    GetSimulatorFeatures,
    ResetSimulation,
    SetEntityState,
    SetSimulationState,
    SpawnEntity,
    StepSimulation,
)

GRAVITY = 9.81
FEATURES = {
    getattr(SimulatorFeatures, name): name
    for name in dir(type(SimulatorFeatures))
    if name.isupper()
}


class Conformance(SimulationClient):
    """What is done for each feature."""

    def check_state_getting(self) -> None:
        """A state that exists."""
        expect(self.state() in range(6), "no state")

    def check_state_setting(self) -> None:
        """Time passes while playing; stopped, all is as at the start."""
        self.go(SimulationState.STATE_STOPPED)
        names, first = self.movers()
        self.go(SimulationState.STATE_PLAYING)
        before = self.time
        self.spin(lambda: self.time > before, "time to pass")
        self.go(SimulationState.STATE_STOPPED)
        expect(distance(self.movers()[1], first) < 1e-9, "it did not start anew")
        again = SimulationState(state=SimulationState.STATE_STOPPED)
        answer = self.call(
            SetSimulationState, "set_simulation_state", ok=False, state=again
        )
        code = SetSimulationState.Response.ALREADY_IN_TARGET_STATE
        expect(answer.result.result == code, "stopped twice without a word")

    def check_pause(self) -> None:
        """Nothing moves while paused."""
        self.pause()
        for _ in range(5):  # what was on its way
            rclpy.spin_once(self.node, timeout_sec=0.1)
        before = self.time
        for _ in range(5):
            rclpy.spin_once(self.node, timeout_sec=0.1)
        expect(self.time == before, "time passes while paused")

    def check_single_step(self) -> None:
        """Time goes on by one step, and not while playing."""
        self.pause()
        self.period = self.step(1)
        expect(self.period > 0.0, "a step took no time")
        self.go(SimulationState.STATE_PLAYING)
        self.call(StepSimulation, "step_simulation", ok=False, steps=1)
        self.pause()

    def check_steps(self) -> None:
        """Seven steps are seven times as long."""
        self.pause()
        one = self.step(1)
        expect(abs(self.step(7) - 7 * one) < 1e-6, "steps of different lengths")

    def check_action(self) -> None:
        """A goal is told of, done, and can be cancelled."""
        self.pause()
        one, before = self.step(1), self.stamp()
        told: list[int] = []
        handle, answer = self.goal(5, told)
        expect(answer.result.result == Result.RESULT_OK, answer.result.error_message)
        expect(abs(self.stamp() - before - 5 * one) < 1e-6, "not five steps")
        self.spin(lambda: len(told) >= 5, "feedback after each step")
        expect(told == [1, 2, 3, 4, 5], f"after five steps {told} were told")
        handle, answer = self.goal(1, told)
        expect(answer.result.result == Result.RESULT_OK, "a single step")
        self.spin(lambda: len(told) >= 6, "feedback of a single step")
        handle, answer = self.goal(10_000_000, told, cancel=True)
        expect(answer.result.result != Result.RESULT_OK, "cancelled and yet done")

    def check_categories(self) -> None:
        """Filters by category find what infos say."""
        for name in self.names():
            own = EntityCategory(category=self.category(name))
            expect(name in self.names(categories=[own]), f"{name} is not in its own")
        other = EntityCategory(category=250)
        expect(not self.names(categories=[other]), "a category that does not exist")

    def check_tags(self) -> None:
        """Filters by tag find what infos say, any and all."""
        for name in self.names():
            info = self.call(GetEntityInfo, "get_entity_info", entity=name).info
            tags = list(info.tags)
            if not tags:
                continue
            both = TagsFilter(tags=[*tags, "no such tag"])
            expect(name in self.names(tags=both), "any of the tags")
            both.filter_mode = TagsFilter.FILTER_MODE_ALL
            expect(name not in self.names(tags=both), "all of the tags")

    def check_info(self) -> None:
        """Infos of all; none of what does not exist."""
        for name in self.names():
            self.category(name)
        answer = self.call(GetEntityInfo, "get_entity_info", ok=False, entity="no")
        expect(answer.result.result == Result.RESULT_NOT_FOUND, "an unknown entity")

    def check_getting(self) -> None:
        """States one by one and all at once are the same; names are filtered."""
        self.pause()
        names, states = self.movers()
        answer = self.call(GetEntitiesStates, "get_entities_states")
        together = dict(zip(answer.entities, answer.states, strict=True))
        expect(distance([together[n] for n in names], states) == 0.0, "two states")
        expect(self.names(filter=f"^{names[0]}$") == [names[0]], "filter by name")
        self.call(GetEntityState, "get_entity_state", ok=False, entity="no such one")

    def check_setting(self) -> None:
        """A pose that is set is read again; an impossible one is refused."""
        self.pause()
        names, states = self.movers()
        state = states[0]
        state.pose.position.z += HEIGHT
        state.twist.linear.x = 0.25
        self.set_state(names[0], state)
        now = self.state_of(names[0])
        expect(distance([now], [state]) < 1e-6, "the pose is not what was set")
        expect(abs(now.twist.linear.x - 0.25) < 1e-9, "the twist is not what was set")
        one = self.step(1)
        moved = self.state_of(names[0]).pose.position.x - now.pose.position.x
        expect(abs(moved - 0.25 * one) < 0.05 * one, "it does not move as was set")
        state.pose.orientation.w = state.pose.orientation.x = 9.0
        answer = self.set_state(names[0], state, ok=False)
        expect(answer.result.result == SetEntityState.Response.INVALID_POSE, "a pose")
        self.reset()

    def check_bounds(self) -> None:
        """What moves has a size, and a sphere around its pose finds it."""
        names, states = self.movers()
        answer = self.call(GetEntityBounds, "get_entity_bounds", entity=names[0])
        expect(answer.bounds.type != Bounds.TYPE_EMPTY, "no bounds")
        expect(names[0] in self.near(states[0], Bounds.TYPE_SPHERE), "not found there")
        far = states[0]
        far.pose.position.x += 100.0
        expect(names[0] not in self.near(far, Bounds.TYPE_SPHERE), "found elsewhere")

    def check_box_bounds(self) -> None:
        """The same with a box."""
        names, states = self.movers()
        expect(names[0] in self.near(states[0], Bounds.TYPE_BOX), "not found there")

    def check_reset(self) -> None:
        """After a reset all is where it was after the one before, at time zero."""
        self.pause()
        self.reset()
        first = self.movers()[1]
        self.step(5)
        self.reset()
        expect(distance(self.movers()[1], first) < 1e-9, "two resets, two states")
        expect(self.stamp() == 0.0, "time is not at its start")

    def check_spawning(self) -> None:
        """A spawned box falls as bodies fall; its name is taken then."""
        self.pause()
        expect(self.spawn("spawned_box").entity_name == "spawned_box", "its name")
        expect("spawned_box" in self.names(), "it is not there")
        answer = self.spawn("spawned_box", ok=False)
        code = SpawnEntity.Response.NAME_NOT_UNIQUE
        expect(answer.result.result == code, "two of one name")
        other = self.spawn("spawned_box", renaming=True).entity_name
        expect(other != "spawned_box", "it was not renamed")
        self.call(DeleteEntity, "delete_entity", entity=other)
        start = self.state_of("spawned_box")
        took = self.step(10)
        fallen = start.pose.position.z - self.state_of("spawned_box").pose.position.z
        expect(abs(fallen - GRAVITY * took**2 / 2) < 0.1 * fallen, "it does not fall")
        self.call(DeleteEntity, "delete_entity", entity="spawned_box")

    def check_deleting(self) -> None:
        """What is deleted is gone."""
        self.spawn("short_lived")
        self.call(DeleteEntity, "delete_entity", entity="short_lived")
        expect("short_lived" not in self.names(), "it is still there")
        self.call(DeleteEntity, "delete_entity", ok=False, entity="short_lived")

    def check_reset_of_spawned(self) -> None:
        """A reset takes away what was spawned, and nothing else."""
        before = self.names()
        self.spawn("to_be_reset")
        self.reset(ResetSimulation.Request.SCOPE_SPAWNED)
        expect(self.names() == before, "more or less than before")

    def checks(self) -> dict[int, Callable[[], None]]:
        """What is done for each feature."""
        known = SimulatorFeatures
        return {
            known.SIMULATION_STATE_GETTING: self.check_state_getting,
            known.SIMULATION_STATE_SETTING: self.check_state_setting,
            known.SIMULATION_STATE_PAUSE: self.check_pause,
            known.STEP_SIMULATION_SINGLE: self.check_single_step,
            known.STEP_SIMULATION_MULTIPLE: self.check_steps,
            known.STEP_SIMULATION_ACTION: self.check_action,
            known.SIMULATION_RESET: self.check_reset,
            known.ENTITY_CATEGORIES: self.check_categories,
            known.ENTITY_TAGS: self.check_tags,
            known.ENTITY_INFO_GETTING: self.check_info,
            known.ENTITY_STATE_GETTING: self.check_getting,
            known.ENTITY_STATE_SETTING: self.check_setting,
            known.ENTITY_BOUNDS: self.check_bounds,
            known.ENTITY_BOUNDS_BOX: self.check_box_bounds,
            known.SPAWNING: self.check_spawning,
            known.SPAWNING_RESOURCE_STRING: self.check_spawning,
            known.DELETING: self.check_deleting,
            known.SIMULATION_RESET_SPAWNED: self.check_reset_of_spawned,
        }


def distance(some: list[Any], others: list[Any]) -> float:
    """Largest distance between the places of two lists of states [m]."""
    largest = 0.0
    for one, two in zip(some, others, strict=True):
        a, b = one.pose.position, two.pose.position
        largest = max(largest, abs(a.x - b.x), abs(a.y - b.y), abs(a.z - b.z))
    return largest


def main() -> None:
    """Use every feature that is told."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--namespace", default="", help="of the simulator")
    given, rest = parser.parse_known_args()
    rclpy.init(args=rest)
    node = rclpy.create_node("conformance", namespace=given.namespace)
    client = Conformance(node)
    told = client.call(GetSimulatorFeatures, "get_simulator_features").features
    checks, failures = client.checks(), 0
    for feature in sorted(told.features):
        name = FEATURES.get(feature, f"feature {feature}")
        try:
            expect(feature in checks, "there is no check of it")
            checks[feature]()
            print(f"ok      {name}", flush=True)
        except FailureError as failure:
            failures += 1
            print(f"FAILED  {name}: {failure}", flush=True)
    print(f"{len(told.features)} features, {failures} failed; {told.custom_info}")
    node.destroy_node()
    rclpy.shutdown()
    sys.exit(1 if failures or not told.features else 0)


if __name__ == "__main__":
    main()
