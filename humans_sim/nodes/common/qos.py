# SPDX-License-Identifier: Apache-2.0
"""Quality of service of the nodes' topics (REP-2003), and its overrides.

Publishers and subscriptions are reliable and volatile, and keep their last messages;
what is published once, and maps, are transient local. Reliable subscriptions depart
from REP-2003, which wants best effort for sensor data: in lock-step a message that is
lost would stop the graph. Each topic can be given other policies by the parameters
``qos_overrides.<topic>.publisher.<policy>`` and ``.subscription.<policy>``.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager

from rclpy.exceptions import InvalidParameterTypeException
from rclpy.qos import DurabilityPolicy, QoSPolicyKind, QoSProfile
from rclpy.qos_overriding_options import QoSOverridingOptions

from humans_sim.core.errors import ParameterError

POLICIES = (
    QoSPolicyKind.HISTORY,
    QoSPolicyKind.DEPTH,
    QoSPolicyKind.RELIABILITY,
    QoSPolicyKind.DURABILITY,
)
"""What can be overridden."""


def latched() -> QoSProfile:
    """For maps, and for what is published once: late listeners receive the last one."""
    return QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def own_profile(qos: QoSProfile | int) -> QoSProfile:
    """A profile that overrides may change: rclpy writes them into what it is given."""
    return QoSProfile(depth=qos) if isinstance(qos, int) else copy.copy(qos)


def overriding() -> QoSOverridingOptions:
    """Let parameters override the policies of a topic."""
    return QoSOverridingOptions(POLICIES)


@contextmanager
def reported_overrides(topic: str) -> Iterator[None]:
    """Overrides that cannot be are reported in plain words.

    Raises:
        ParameterError: a policy has no such value.
    """
    try:
        yield
    except InvalidParameterTypeException as error:
        raise ParameterError(f"quality of service of {topic}: {error}") from None
    except RuntimeError as error:
        if "QoS override" not in str(error):
            raise
        raise ParameterError(f"quality of service of {topic}: {error}") from None
