# SPDX-License-Identifier: Apache-2.0
"""What the nodes share: the model that a parameter names."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from humans_sim.core.errors import ParameterError
from humans_sim.models import load_model
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.nodes.common.process_node import ProcessNode
from humans_sim.observation.posture.subject import load_subject


class ModelNode(ProcessNode):
    """A node that works on one model, given by the parameter ``model``.

    The parameter ``subject``, the file of a calibrated person, goes over it.

    Attributes:
        model: what it works on.
        subject: the person, or None.
    """

    usual_model = "khr1"
    """The model where no parameter names one."""

    def __init__(self, name: str, **options: Any) -> None:
        """Declare ``model`` and ``subject``, and load what they name."""
        super().__init__(name, **options)
        given = Parameters(self)
        model = given.text("model", self.usual_model, "name, or file of a URDF")
        subject = given.text(
            "subject", "", "file of a calibrated person, in place of the model"
        )
        self.subject = load_subject(subject) if subject else None
        self.model = (
            load_model(model, xacro=False)  # a parameter may come from anyone
            if self.subject is None
            else self.subject.model()
        )


def node_class(kind: str) -> Callable[..., ModelNode]:
    """The class of a node by its name: ``joint_demo`` -> ``JointDemo``.

    It is in the module of that name in ``humans_sim.nodes``, or in the module
    ``node`` of the folder of that name.

    Raises:
        ParameterError: there is none.
    """
    try:
        module = importlib.import_module(f"humans_sim.nodes.{kind}")
        if hasattr(module, "__path__"):
            module = importlib.import_module(f"humans_sim.nodes.{kind}.node")
        node: Any = getattr(module, "".join(word.title() for word in kind.split("_")))
    except (ModuleNotFoundError, AttributeError) as error:
        if isinstance(error, ModuleNotFoundError) and kind not in str(error.name):
            raise
        raise ParameterError(f"there is no node type '{kind}'") from None
    return node
