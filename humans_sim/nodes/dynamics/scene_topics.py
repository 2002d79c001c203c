# SPDX-License-Identifier: Apache-2.0
"""What the node ``dynamics`` publishes of what stands around its robot."""

from __future__ import annotations

from collections.abc import Sequence

import pinocchio as pin
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

from humans_sim.contact.geometry.ground import Ground
from humans_sim.dynamics.scenes.scene_bodies import SceneBody
from humans_sim.nodes.common.conversions import time_of, transform
from humans_sim.nodes.common.model_node import ModelNode
from humans_sim.nodes.common.qos import latched
from humans_sim.nodes.common.scene_messages import body_marker, box_marker
from humans_sim.nodes.common.terrain_markers import terrain_markers

_DEPTH, _TF_DEPTH = 10, 100


class SceneTopics:
    """Publishes free bodies as frames and markers, boxes and terrain of the ground.

    Args:
        node: whose topics they are.
        world: frame of the ground truth.
        tf: whether transforms from world to the bodies are published.
        bodies: free ones.
        ground: what does not move.
    """

    def __init__(
        self,
        node: ModelNode,
        world: str,
        tf: bool,
        bodies: Sequence[SceneBody],
        ground: Ground,
    ) -> None:
        """Make the topics."""
        self._world, self._header = world, Header(frame_id=world)
        make = node.create_publisher
        self._markers = make(MarkerArray, "scene", _DEPTH)
        self._tf = make(TFMessage, "/tf", _TF_DEPTH) if tf else None
        boxes = [
            box_marker(self._header, k, solid) for k, solid in enumerate(ground.solids)
        ]
        self._boxes = [marker for marker in boxes if marker is not None]
        self._names: list[str] = []
        self._bodies: list[Marker] = []
        self.show(bodies)
        self._terrain = make(MarkerArray, "terrain", latched())
        # Once for all: meshes are large, and stay.
        self._terrain.publish(terrain_markers(self._header, ground))

    def show(self, bodies: Sequence[SceneBody]) -> None:
        """Publish these bodies from now on; listeners are told which are gone."""
        gone = self._bodies
        self._names = [body.name for body in bodies]
        self._bodies = [
            body_marker(self._header, k, body) for k, body in enumerate(bodies)
        ]
        for marker in gone:
            marker.action = Marker.DELETE
        if gone:
            self._markers.publish(MarkerArray(markers=gone))

    def publish(self, now: int, poses: Sequence[pin.SE3]) -> None:
        """Publish where the bodies are at a time [ns]."""
        stamp = time_of(now)
        frames = [
            transform(stamp, self._world, name, pose)
            for name, pose in zip(self._names, poses, strict=True)
        ]
        if frames and self._tf is not None and self._tf.get_subscription_count():
            self._tf.publish(TFMessage(transforms=frames))
        if not self._markers.get_subscription_count():
            return
        for marker, frame in zip(self._bodies, frames, strict=True):
            place, shift = marker.pose.position, frame.transform.translation
            place.x, place.y, place.z = shift.x, shift.y, shift.z
            marker.pose.orientation = frame.transform.rotation
        markers = [*self._bodies, *self._boxes]
        for marker in markers:
            marker.header.stamp = stamp
        self._markers.publish(MarkerArray(markers=markers))
