# SPDX-License-Identifier: Apache-2.0
"""The standard services about what is simulated (simulation_interfaces).

Entities are the robot, free bodies, and the solids of the ground. Their names, states
and sizes can be asked for; movers can be put elsewhere; with the time-stepping method
boxes and balls can be spawned and deleted.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin
from geometry_msgs.msg import Pose, Vector3
from simulation_interfaces.msg import (
    Bounds,
    EntityCategory,
    EntityState,
    Result,
    TagsFilter,
)
from simulation_interfaces.srv import (
    DeleteEntity,
    GetEntities,
    GetEntitiesStates,
    GetEntityBounds,
    GetEntityInfo,
    GetEntityState,
    SetEntityState,
    SpawnEntity,
)

from humans_sim.applications.scene_setup import UnsupportedShapeError, read_body
from humans_sim.core.bounded_text import parse_xml
from humans_sim.core.errors import ConfigurationError, HumansError, ParameterError
from humans_sim.core.posix_expression import PosixExpression
from humans_sim.dynamics.scene_bodies import SceneBody
from humans_sim.nodes.common.conversions import (
    base_of,
    set_pose,
    set_vector,
    time_of,
    vector_of,
    velocity_of,
)
from humans_sim.nodes.dynamics.entities import BoxBounds, Entities, EntityKind
from humans_sim.nodes.dynamics.simulation_services import OK, failed, result

if TYPE_CHECKING:
    from humans_sim.nodes.dynamics.node import Dynamics

_CATEGORIES = {
    EntityKind.ROBOT: EntityCategory.CATEGORY_ROBOT,
    EntityKind.HUMAN: EntityCategory.CATEGORY_HUMAN,
    EntityKind.BODY: EntityCategory.CATEGORY_DYNAMIC_OBJECT,
    EntityKind.SOLID: EntityCategory.CATEGORY_STATIC_OBJECT,
}
_DESCRIPTIONS = {
    EntityKind.ROBOT: "robot; its pose is that of base_link",
    EntityKind.HUMAN: "person; its pose is that of base_link",
    EntityKind.BODY: "free body; its pose is that of its centre of mass",
    EntityKind.SOLID: "part of the ground",
}
_SPAWNED = "spawned"
"""Tag of what was spawned."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
"""Names become frames of TF."""
_MOST = 64
"""Free bodies that a scene may have: its contact problem grows with their square."""
_INVALID_POSE = getattr(
    SetEntityState.Response, "INVALID_POSE", Result.RESULT_OPERATION_FAILED
)
"""Not all releases for Jazzy have this code."""


class _RefusedError(HumansError):
    """A request that is answered with a code."""

    def __init__(self, code: int, problem: str) -> None:
        super().__init__(problem)
        self.code = code


class EntityServices:
    """Serves names, states and sizes of entities; spawns and deletes them."""

    def __init__(self, node: Dynamics) -> None:
        self._node = node
        self._serve(GetEntities, "get_entities", self._get_entities)
        self._serve(GetEntitiesStates, "get_entities_states", self._get_states)
        self._serve(GetEntityState, "get_entity_state", self._get_state)
        self._serve(SetEntityState, "set_entity_state", self._set_state)
        self._serve(GetEntityInfo, "get_entity_info", self._get_info)
        self._serve(GetEntityBounds, "get_entity_bounds", self._get_bounds)
        self._serve(SpawnEntity, "spawn_entity", self._spawn)
        self._serve(DeleteEntity, "delete_entity", self._delete)

    def _serve(self, kind: Any, name: str, fill: Any) -> None:
        """Serve; what is refused is answered with a code, and changes nothing."""

        def on_request(request: Any, response: Any) -> Any:
            try:
                fill(request, response)
                response.result = result(OK)
            except _RefusedError as error:
                response.result = result(error.code, str(error))
            except Exception as error:  # the node lives on, whatever it is
                response.result = failed(error)
            return response

        self._node.create_service(kind, name, on_request)

    def remove_spawned(self) -> None:
        """Take all spawned bodies out of the scene."""
        scene = self._node.settings.scene
        if scene is not None and scene.added:
            self._remove(tuple(scene.added))

    @property
    def _entities(self) -> Entities:
        node = self._node
        names = [robot.settings.entity for robot in node.robots]
        return Entities(names, node.system, node.settings.ground)

    def _known(self, name: str) -> Entities:
        entities = self._entities
        if name not in entities.kinds:
            raise _RefusedError(
                Result.RESULT_NOT_FOUND, f"there is no entity '{name[:80]}'"
            )
        return entities

    # -- what there is ---------------------------------------------------------------

    def _get_entities(self, request: Any, response: Any) -> None:
        response.entities = self._filtered(request.filters)

    def _get_states(self, request: Any, response: Any) -> None:
        names = self._filtered(request.filters)
        response.states = [self._state_of(self._entities, name) for name in names]
        response.entities = names

    def _get_state(self, request: Any, response: Any) -> None:
        entities = self._known(request.entity)
        response.state = self._state_of(entities, request.entity)

    def _get_info(self, request: Any, response: Any) -> None:
        kind = self._known(request.entity).kinds[request.entity]
        response.info.category.category = _CATEGORIES[kind]
        response.info.description = _DESCRIPTIONS[kind]
        response.info.tags = self._tags(request.entity, kind)

    def _get_bounds(self, request: Any, response: Any) -> None:
        entities = self._known(request.entity)
        box = entities.bounds(request.entity, self._node.run.q)
        response.bounds.type = Bounds.TYPE_EMPTY
        if box is not None:
            response.bounds.type = Bounds.TYPE_BOX
            response.bounds.points = [_vector(box.high), _vector(box.low)]

    def _tags(self, name: str, kind: EntityKind) -> list[str]:
        scene = self._node.settings.scene
        spawned = scene is not None and name in scene.added
        return [kind.value, *([_SPAWNED] if spawned else [])]

    def _filtered(self, filters: Any) -> list[str]:
        entities = self._entities
        names = list(entities.kinds)
        if filters.filter:
            try:
                expression = PosixExpression(filters.filter)
            except ParameterError as error:
                raise _RefusedError(
                    Result.RESULT_OPERATION_FAILED, str(error)
                ) from error
            names = [name for name in names if expression.found_in(name)]
        categories = {item.category for item in filters.categories}
        if categories:
            names = [n for n in names if _CATEGORIES[entities.kinds[n]] in categories]
        tags = set(filters.tags.tags)
        if tags:
            whole = filters.tags.filter_mode == TagsFilter.FILTER_MODE_ALL
            own = {n: set(self._tags(n, entities.kinds[n])) for n in names}
            names = [n for n in names if (tags <= own[n] if whole else tags & own[n])]
        return self._within(entities, names, filters.bounds)

    def _within(self, entities: Entities, names: list[str], region: Any) -> list[str]:
        """Those whose boxes touch a region of the world; what has no end does."""
        if region.type == Bounds.TYPE_EMPTY:
            return names
        if region.type not in (Bounds.TYPE_BOX, Bounds.TYPE_SPHERE):
            raise _RefusedError(
                Result.RESULT_FEATURE_UNSUPPORTED, "regions are boxes or spheres"
            )
        if len(region.points) != 2:
            raise ConfigurationError("a region must have two points")
        first, second = (vector_of(point) for point in region.points)
        if region.type == Bounds.TYPE_SPHERE and second[0] < 0.0:
            raise ConfigurationError(f"a sphere has no radius of {second[0]:g} m")
        box = BoxBounds(np.minimum(first, second), np.maximum(first, second))
        q, kept = self._node.run.q, []
        for name in names:
            own = entities.bounds(name, q)
            if own is not None:
                around = own.around(entities.pose(name, q))
                ball = region.type == Bounds.TYPE_SPHERE
                if not (
                    around.meets_ball(first, float(second[0]))
                    if ball
                    else around.meets_box(box)
                ):
                    continue
            kept.append(name)
        return kept

    def _state_of(self, entities: Entities, name: str) -> EntityState:
        node = self._node
        q, v, rates = node.run.q, node.run.v, node.run.acceleration()
        state = EntityState()
        state.header.stamp = time_of(node.stamp)
        state.header.frame_id = node.settings.world
        set_pose(state.pose, pin.SE3ToXYZQUAT(entities.pose(name, q)))
        velocity = entities.velocity(name, q, v)
        set_vector(state.twist.linear, velocity[:3])
        set_vector(state.twist.angular, velocity[3:])
        if rates is not None:
            acceleration = entities.acceleration(name, q, v, rates)
            set_vector(state.acceleration.linear, acceleration[:3])
            set_vector(state.acceleration.angular, acceleration[3:])
        return state

    # -- changes ---------------------------------------------------------------------

    def _ready(self) -> None:
        if self._node.failure:
            raise _RefusedError(Result.RESULT_INCORRECT_STATE, self._node.failure)

    def _set_state(self, request: Any, response: Any) -> None:
        self._ready()
        entities = self._known(request.entity)
        run, state = self._node.run, request.state
        pose = velocity = None
        # Version 1 has no flags: all is set.
        if getattr(request, "set_pose", True):
            pose = self._pose_of(state.header, state.pose, _INVALID_POSE)
        if getattr(request, "set_twist", True):
            velocity, frame = velocity_of(state.twist), state.header.frame_id
            world = self._node.settings.world
            # Rest is rest in any frame.
            if velocity.any() and frame not in ("", world):
                raise ConfigurationError(
                    f"velocities are taken in {world}, not in '{frame[:80]}'"
                )
        q, v = entities.placed(request.entity, run.q, run.v, pose, velocity)
        try:
            self._node.place(q, v)
        except ConfigurationError as error:
            raise _RefusedError(_INVALID_POSE, str(error)) from error

    def _pose_of(self, header: Any, given: Pose, code: int) -> np.ndarray:
        """Place and quaternion in the world of a pose in the frame of an entity."""
        frame = header.frame_id
        try:
            pose = base_of(given)
        except ConfigurationError as error:
            raise _RefusedError(code, str(error)) from error
        if frame in ("", self._node.settings.world):
            return pose
        frame = self._node.unframed(frame)
        entities = self._known(frame)
        there = entities.pose(frame, self._node.run.q) * pin.XYZQUATToSE3(pose)
        return np.array(pin.SE3ToXYZQUAT(there))

    def _spawn(self, request: Any, response: Any) -> None:
        self._ready()
        node, codes = self._node, SpawnEntity.Response
        problem = node.settings.spawning_problem()
        if problem:
            raise _RefusedError(Result.RESULT_FEATURE_UNSUPPORTED, problem)
        if request.entity_namespace:
            raise _RefusedError(
                codes.NAMESPACE_INVALID, "free bodies have no topics of their own"
            )
        entities = self._entities
        body = self._body(request, entities)
        given = request.initial_pose
        pose = self._pose_of(given.header, given.pose, codes.INVALID_POSE)
        scene = node.settings.scene
        if scene is not None and len(scene.bodies) >= _MOST:
            raise ConfigurationError(f"a scene has at most {_MOST} free bodies")
        settings = node.settings.with_body(body, pin.XYZQUATToSE3(pose))
        q, v = self._bodies_end
        try:
            node.change_scene(
                settings,
                np.insert(node.run.q, q, pose),
                np.insert(node.run.v, v, np.zeros(6)),
            )
        except ConfigurationError as error:
            raise _RefusedError(codes.INVALID_POSE, str(error)) from error
        response.entity_name = body.name

    def _body(self, request: Any, entities: Entities) -> SceneBody:
        """The body that a request describes, under a name that is free."""
        codes = SpawnEntity.Response
        # Version 1 has the fields of the resource in the request itself.
        resource = getattr(request, "entity_resource", request)
        if resource.uri:
            raise _RefusedError(
                codes.UNSUPPORTED_FORMAT, "give the URDF itself as resource_string"
            )
        if not resource.resource_string:
            raise _RefusedError(codes.NO_RESOURCE, "resource_string is empty")
        text, path = resource.resource_string, Path("resource_string")
        try:
            root = parse_xml(text, path).tag
            if root != "robot":
                raise _RefusedError(
                    codes.UNSUPPORTED_FORMAT,
                    f"a URDF is a <robot>, not a <{root[:80]}>",
                )
            body = read_body(text, path, request.name)
        except _RefusedError:
            raise
        except UnsupportedShapeError as error:
            raise _RefusedError(codes.UNSUPPORTED_ASSETS, str(error)) from error
        except HumansError as error:
            raise _RefusedError(codes.RESOURCE_PARSE_ERROR, str(error)) from error
        if request.allow_renaming:
            return body.named(entities.free_name(body.name or "body"))
        if not _NAME.fullmatch(body.name):
            raise _RefusedError(
                codes.NAME_INVALID, "a name is letters, digits and _, a letter first"
            )
        if body.name in entities.kinds:
            raise _RefusedError(
                codes.NAME_NOT_UNIQUE, f"there is an entity '{body.name}' already"
            )
        return body

    def _delete(self, request: Any, response: Any) -> None:
        self._ready()
        kind = self._known(request.entity).kinds[request.entity]
        if kind is not EntityKind.BODY:
            raise ConfigurationError(f"{request.entity} cannot be deleted")
        self._remove((request.entity,))

    def _remove(self, names: tuple[str, ...]) -> None:
        """Go on without some free bodies."""
        node = self._node
        settings, scene = node.settings.without_bodies(names), node.settings.scene
        assert scene is not None
        gone = np.flatnonzero([body.name in names for body in scene.bodies])[:, None]
        q, v = node.system.robot_nq, node.system.robot_nv
        node.change_scene(
            settings,
            np.delete(node.run.q, q + 7 * gone + np.arange(7)),
            np.delete(node.run.v, v + 6 * gone + np.arange(6)),
        )

    @property
    def _bodies_end(self) -> tuple[int, int]:
        """Coordinates and velocities of the first robot and of the free bodies."""
        system = self._node.system
        count = len(system.bodies)
        return system.robot_nq + 7 * count, system.robot_nv + 6 * count


def _vector(values: np.ndarray) -> Vector3:
    x, y, z = values.tolist()
    return Vector3(x=x, y=y, z=z)
