# SPDX-License-Identifier: Apache-2.0
"""A client of the standard services of a simulation (simulation_interfaces)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import rclpy
from rclpy.action import ActionClient
from rosgraph_msgs.msg import Clock
from simulation_interfaces.action import SimulateSteps
from simulation_interfaces.msg import (
    Bounds,
    EntityCategory,
    Result,
    SimulationState,
)
from simulation_interfaces.srv import (
    GetEntities,
    GetEntityInfo,
    GetEntityState,
    GetSimulationState,
    ResetSimulation,
    SetEntityState,
    SetSimulationState,
    SpawnEntity,
    StepSimulation,
)

PATIENCE = 120.0
"""Wall time for an answer [s]."""
BOX = """<robot name="crate"><link name="crate">
<inertial><mass value="0.2"/></inertial>
<collision><geometry><box size="0.05 0.05 0.05"/></geometry></collision>
</link></robot>"""
HEIGHT = 1.0
"""Where the box is spawned [m]."""


class FailureError(AssertionError):
    """The simulator does not do what it says."""


def expect(condition: bool, what: str) -> None:
    """Fail unless a condition holds."""
    if not condition:
        raise FailureError(what)


class SimulationClient:
    """Calls services, and waits for their answers."""

    def __init__(self, node: Any) -> None:
        """Listen to the clock."""
        self.node, self.time, self.spawned = node, 0.0, 0
        node.create_subscription(Clock, "/clock", self._on_clock, 10)

    def _on_clock(self, message: Any) -> None:
        self.time = message.clock.sec + message.clock.nanosec * 1e-9

    def spin(self, done: Callable[[], bool], what: str) -> None:
        """Listen until something is the case."""
        end = time.monotonic() + PATIENCE
        while not done():
            expect(time.monotonic() < end, f"waited {PATIENCE:g} s for {what}")
            rclpy.spin_once(self.node, timeout_sec=0.05)

    def call(self, kind: Any, service: str, /, ok: bool = True, **fields: Any) -> Any:
        """Call a service; its result must be OK, or must not."""
        client = self.node.create_client(kind, service)
        self.spin(client.service_is_ready, f"the service {service}")
        future = client.call_async(kind.Request(**fields))
        self.spin(future.done, f"an answer of {service}")
        self.node.destroy_client(client)
        answer = future.result()
        if hasattr(answer, "result"):
            told = answer.result
            expect(
                (told.result == Result.RESULT_OK) == ok,
                f"{service}: {told.result} {told.error_message}",
            )
        return answer

    def state(self) -> int:
        """Whether time passes."""
        return int(self.call(GetSimulationState, "get_simulation_state").state.state)

    def go(self, state: int) -> None:
        """Change to a state, if it is another."""
        if self.state() != state:
            wanted = SimulationState(state=state)
            self.call(SetSimulationState, "set_simulation_state", state=wanted)
        expect(self.state() == state, f"the state is not {state} after setting it")

    def pause(self) -> None:
        """Let time stand still."""
        if self.state() == SimulationState.STATE_STOPPED:
            self.go(SimulationState.STATE_PLAYING)
        self.go(SimulationState.STATE_PAUSED)

    def step(self, count: int) -> float:
        """Make steps; the time they took [s]."""
        before = self.stamp()
        self.call(StepSimulation, "step_simulation", steps=count)
        return self.stamp() - before

    def stamp(self) -> float:
        """Time of the state of the first mover [s]."""
        stamp = self.movers()[1][0].header.stamp
        return float(stamp.sec + stamp.nanosec * 1e-9)

    def goal(self, count: int, told: list[int], cancel: bool = False) -> Any:
        """Send a goal and wait for its end."""
        client = ActionClient(self.node, SimulateSteps, "simulate_steps")
        self.spin(client.server_is_ready, "the action")
        sent = client.send_goal_async(
            SimulateSteps.Goal(steps=count),
            feedback_callback=lambda m: told.append(m.feedback.completed_steps),
        )
        self.spin(sent.done, "the goal to be taken")
        handle = sent.result()
        expect(handle.accepted, "the goal was refused")
        ended = handle.get_result_async()
        if cancel:
            start = len(told)
            self.spin(lambda: len(told) > start, "feedback")
            handle.cancel_goal_async()
        self.spin(ended.done, "the goal to end")
        client.destroy()
        return handle, ended.result().result

    def names(self, **filters: Any) -> list[str]:
        """Names that pass filters."""
        request = GetEntities.Request()
        for key, value in filters.items():
            setattr(request.filters, key, value)
        answer = self.call(GetEntities, "get_entities", filters=request.filters)
        return list(answer.entities)

    def category(self, name: str) -> int:
        """What an entity is."""
        info = self.call(GetEntityInfo, "get_entity_info", entity=name).info
        return int(info.category.category)

    def movers(self) -> tuple[list[str], list[Any]]:
        """Names and states of what moves."""
        still = EntityCategory.CATEGORY_STATIC_OBJECT
        names = [name for name in self.names() if self.category(name) != still]
        expect(bool(names), "nothing can move")
        return names, [self.state_of(name) for name in names]

    def state_of(self, name: str) -> Any:
        """Where an entity is."""
        return self.call(GetEntityState, "get_entity_state", entity=name).state

    def set_state(self, name: str, state: Any, ok: bool = True) -> Any:
        """Put an entity elsewhere."""
        fields = {"entity": name, "state": state}
        if hasattr(SetEntityState.Request, "set_pose"):  # since version 2.1
            fields |= {"set_pose": True, "set_twist": True}
        return self.call(SetEntityState, "set_entity_state", ok=ok, **fields)

    def near(self, state: Any, kind: int) -> list[str]:
        """What is within a metre of a pose."""
        from geometry_msgs.msg import Vector3

        p = state.pose.position
        points = [Vector3(x=p.x, y=p.y, z=p.z), Vector3(x=1.0)]
        if kind == Bounds.TYPE_BOX:
            points = [Vector3(x=p.x + s, y=p.y + s, z=p.z + s) for s in (1.0, -1.0)]
        return self.names(bounds=Bounds(type=kind, points=points))

    def reset(self, scope: int = ResetSimulation.Request.SCOPE_DEFAULT) -> None:
        """Back to the start."""
        self.call(ResetSimulation, "reset_simulation", scope=scope)

    def spawn(self, name: str, ok: bool = True, renaming: bool = False) -> Any:
        """Spawn a box in the air."""
        request = SpawnEntity.Request()
        request.name, request.allow_renaming = name, renaming
        # Version 1 has the text in the request itself.
        getattr(request, "entity_resource", request).resource_string = BOX
        self.spawned += 1
        request.initial_pose.pose.position.x = 1.5 + 0.2 * self.spawned
        request.initial_pose.pose.position.z = HEIGHT
        fields = {
            key: getattr(request, key) for key in request.get_fields_and_field_types()
        }
        return self.call(SpawnEntity, "spawn_entity", ok=ok, **fields)
