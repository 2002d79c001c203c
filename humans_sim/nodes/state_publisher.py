# SPDX-License-Identifier: Apache-2.0
"""Node ``state_publisher``: the model's description and its links on TF.

For machines without robot_state_publisher. Takes ``joint_states`` and odometry; gives
``robot_description`` (transient local), ``/tf`` for moving links, ``/tf_static`` for
fixed ones, and ``base_footprint`` below the base (REP-120). Parameters: ``model``,
``odometry_topic``, ``publish_footprint``, ``frame_prefix``.
"""

from __future__ import annotations

from typing import Any

import pinocchio as pin
from geometry_msgs.msg import TransformStamped
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from humans_sim.models.description import BASE_LINK
from humans_sim.models.links import LinkTree
from humans_sim.nodes.common.conversions import transform
from humans_sim.nodes.common.model_node import latched
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.nodes.common.state_listener import StateListener


class StatePublisher(StateListener):
    """Publishes where the links of a model are."""

    def __init__(self, name: str = "state_publisher", **options: Any) -> None:
        super().__init__(name, **options)
        self._footprint = Parameters(self).flag(
            "publish_footprint", True, "whether base_footprint is on /tf"
        )
        self._links = LinkTree(self.model)
        self._tf = self.create_publisher(TFMessage, "/tf", 100)
        static = self.create_publisher(TFMessage, "/tf_static", latched())
        description = self.create_publisher(String, "robot_description", latched())
        description.publish(String(data=self.model.urdf()))
        stamp = self.get_clock().now().to_msg()
        fixed = [self._transform(stamp, *link) for link in self._links.fixed()]
        static.publish(TFMessage(transforms=fixed))

    def on_state(self, stamp: Any) -> None:
        """Publish the moving links."""
        q = self.configuration()
        moved = [self._transform(stamp, *link) for link in self._links.moving(q)]
        if self._footprint and self.model.soles:
            base = pin.XYZQUATToSE3(q[:7])
            footprint = base.actInv(self.model.base_footprint(q))
            moved.append(self._transform(stamp, BASE_LINK, "base_footprint", footprint))
        self._tf.publish(TFMessage(transforms=moved))

    def _transform(
        self, stamp: Any, parent: str, child: str, pose: pin.SE3
    ) -> TransformStamped:
        return transform(stamp, self.framed(parent), self.framed(child), pose)
