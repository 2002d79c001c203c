# SPDX-License-Identifier: Apache-2.0
"""Standard services of a simulation (simulation_interfaces).

Whether time passes, steps, resets, and what the simulator can do. A request that comes
at the wrong time is answered with a code and a sentence; the run stays as it is.

Also the answers of these services.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simulation_interfaces.action import SimulateSteps
from simulation_interfaces.msg import Result, SimulationState, SimulatorFeatures
from simulation_interfaces.srv import (
    GetSimulationState,
    GetSimulatorFeatures,
    ResetSimulation,
    SetSimulationState,
    StepSimulation,
)

from humans_sim.core.errors import ConfigurationError
from humans_sim.nodes.common.services import (
    PatientServer,
    Reply,
    create_deferred_service,
)

if TYPE_CHECKING:
    from humans_sim.nodes.dynamics.node import Dynamics


OK = Result.RESULT_OK


def result(code: int, problem: str = "") -> Result:
    """An answer: its code, and a sentence where something is wrong."""
    return Result(result=code, error_message=problem)


def failed(error: Exception) -> Result:
    """The request was tried, and failed."""
    return result(Result.RESULT_OPERATION_FAILED, str(error))


_FEATURES = (
    SimulatorFeatures.ENTITY_TAGS,
    SimulatorFeatures.ENTITY_BOUNDS,
    SimulatorFeatures.ENTITY_BOUNDS_BOX,
    SimulatorFeatures.ENTITY_CATEGORIES,
    SimulatorFeatures.ENTITY_STATE_GETTING,
    SimulatorFeatures.ENTITY_STATE_SETTING,
    SimulatorFeatures.ENTITY_INFO_GETTING,
    SimulatorFeatures.SIMULATION_RESET,
    SimulatorFeatures.SIMULATION_STATE_GETTING,
    SimulatorFeatures.SIMULATION_STATE_SETTING,
    SimulatorFeatures.SIMULATION_STATE_PAUSE,
    SimulatorFeatures.STEP_SIMULATION_SINGLE,
    SimulatorFeatures.STEP_SIMULATION_MULTIPLE,
    SimulatorFeatures.STEP_SIMULATION_ACTION,
)
"""What every run can do."""
_SPAWNING = (
    SimulatorFeatures.SPAWNING,
    SimulatorFeatures.DELETING,
    SimulatorFeatures.SPAWNING_RESOURCE_STRING,
    SimulatorFeatures.SIMULATION_RESET_SPAWNED,
)
"""What runs can do in which free bodies can be."""
_SOON = 0.2
"""Wall time in which an answer is sent before the process ends [s]."""
_LOOK = 0.05
"""Wall time after which a goal that was cancelled makes no more steps [s]."""
_SPAWNED = ResetSimulation.Request.SCOPE_SPAWNED
_RUN = ResetSimulation.Request.SCOPE_TIME | ResetSimulation.Request.SCOPE_STATE
_ALL = (ResetSimulation.Request.SCOPE_DEFAULT, ResetSimulation.Request.SCOPE_ALL)
_STEPS = 2**32
"""More steps than these are a mistake."""


class SimulationServices:
    """Serves state, reset and steps of a run.

    Args:
        remove_spawned: takes spawned bodies out of the scene.
    """

    def __init__(self, node: Dynamics, remove_spawned: Callable[[], None]) -> None:
        self._node, self._remove_spawned = node, remove_spawned
        self._stopped = False
        serve = node.create_service
        serve(GetSimulatorFeatures, "get_simulator_features", self._on_features)
        serve(GetSimulationState, "get_simulation_state", self._on_get_state)
        serve(SetSimulationState, "set_simulation_state", self._on_set_state)
        serve(ResetSimulation, "reset_simulation", self._on_reset)
        create_deferred_service(node, StepSimulation, "step_simulation", self._on_step)
        self._server = PatientServer(
            node, SimulateSteps, "simulate_steps", self._on_goal
        )
        self._goal: Any = None
        node.every(_LOOK, self._look)

    @property
    def _state(self) -> int:
        if not self._node.paused:
            self._stopped = False
            return int(SimulationState.STATE_PLAYING)
        if self._stopped and self._node.stamp == 0:
            return int(SimulationState.STATE_STOPPED)
        return int(SimulationState.STATE_PAUSED)

    def _on_features(self, request: Any, response: Any) -> Any:
        problem = self._node.settings.spawning_problem()
        features = response.features
        features.features = [*_FEATURES, *(() if problem else _SPAWNING)]
        features.spawn_formats = [] if problem else ["urdf"]
        period = self._node.settings.period
        info = [f"a step is {period:g} s"]
        if self._node.settings.lockstep:
            info.append("in lock-step: each waits for its command")
        if problem:
            info.append(f"nothing can be spawned: {problem}")
        features.custom_info = "; ".join(info)
        return response

    def _on_get_state(self, request: Any, response: Any) -> Any:
        response.state.state = self._state
        response.result = result(OK, self._node.failure)
        return response

    def _on_set_state(self, request: Any, response: Any) -> Any:
        code, problem = self._change(request.state.state)
        response.result = result(code, problem)
        return response

    def _change(self, wanted: int) -> tuple[int, str]:
        """Go to a state; a code and what is wrong."""
        answer = SetSimulationState.Response
        if wanted == self._state:
            return answer.ALREADY_IN_TARGET_STATE, "it is in this state already"
        if wanted == SimulationState.STATE_QUITTING:
            self._node.every(_SOON, _end_process)
        elif wanted == SimulationState.STATE_STOPPED:
            played = not self._node.paused
            self._node.let_run(False)
            try:
                self._node.restart()
            except Exception as error:  # whatever it is, the old run stands
                self._node.let_run(played)
                return answer.STATE_TRANSITION_ERROR, str(error)
            self._stopped = True
        elif wanted == SimulationState.STATE_PLAYING:
            if self._node.failure:
                return answer.STATE_TRANSITION_ERROR, self._node.failure
            self._node.let_run(True)
        elif wanted == SimulationState.STATE_PAUSED:
            if self._state == SimulationState.STATE_STOPPED:
                return answer.INCORRECT_TRANSITION, "what is stopped cannot pause"
            self._node.let_run(False)
        else:
            return answer.INCORRECT_TRANSITION, f"state {wanted} cannot be set"
        return OK, ""

    def _on_reset(self, request: Any, response: Any) -> Any:
        everything = request.scope in (*_ALL, _RUN | _SPAWNED)
        if not everything and request.scope not in (_RUN, _SPAWNED):
            response.result = result(
                Result.RESULT_FEATURE_UNSUPPORTED,
                "time and state are reset together, spawned bodies also alone",
            )
            return response
        try:
            if everything or request.scope == _SPAWNED:
                self._remove_spawned()
            if everything or request.scope == _RUN:
                self._node.restart()
        except Exception as error:  # whatever it is, the old run stands
            response.result = failed(error)
            return response
        response.result = result(OK)
        return response

    def _make_steps(self, count: int, told: Any) -> None:
        if self._state == SimulationState.STATE_STOPPED:
            raise ConfigurationError("the simulation is stopped, not paused")
        if count > _STEPS:
            raise ConfigurationError(f"at most {_STEPS} steps can be asked for")
        self._node.make_steps(count, told)

    def _on_step(self, request: Any, reply: Reply) -> None:
        def tell(left: int, problem: str) -> None:
            if not left:
                code = Result.RESULT_OPERATION_FAILED if problem else OK
                reply.message.result = result(code, problem)
                reply.send()

        try:
            self._make_steps(request.steps, tell)
        except ConfigurationError as error:
            tell(0, str(error))

    def _on_goal(self, handle: Any) -> None:
        steps = handle.request.steps

        def tell(left: int, problem: str) -> None:
            if not problem and handle.is_active:  # after each step, the last one too
                feedback = SimulateSteps.Feedback()
                feedback.completed_steps = steps - left
                feedback.remaining_steps = left
                handle.publish_feedback(feedback)
            if not left:
                self._finish(handle, problem)

        handle.execute()
        # A step may be made at once, and the goal be over: it is known before.
        before, self._goal = self._goal, handle
        try:
            self._make_steps(steps, tell)
        except ConfigurationError as error:
            self._goal = before
            tell(0, str(error))

    def _finish(self, handle: Any, problem: str) -> None:
        """Answer a goal."""
        if self._goal is handle:
            self._goal = None
        code = Result.RESULT_OPERATION_FAILED if problem else OK
        answer = SimulateSteps.Result(result=result(code, problem))
        self._server.finish(handle, answer, not problem, handle.is_cancel_requested)

    def _look(self) -> None:
        """Make no more steps where the goal is cancelled."""
        if self._goal is not None and self._goal.is_cancel_requested:
            self._node.end_steps("the goal was cancelled")


def _end_process() -> None:
    """End as by a signal from outside: robots are made safe, files written."""
    signal.raise_signal(signal.SIGTERM)
