# SPDX-License-Identifier: Apache-2.0
"""The service of the node ``anatomy`` that makes ball models of meshes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rclpy.node import Node
from std_srvs.srv import Trigger

from humans_sim.anatomy.volumes.urdf_bones import collision_mesh
from humans_sim.applications.ball_models import BuiltModel
from humans_sim.applications.wrist_scenarios import SPACING
from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.core.output_paths import check_output_file
from humans_sim.nodes.anatomy.worker import ModelWorker
from humans_sim.nodes.common.deferred_service import Reply, create_deferred_service
from humans_sim.nodes.common.parameters import Parameters


class BallModelService:
    """Answers ``~/make_ball_model``: of the files that ``ball_model.*`` name.

    Files are below ``request_folder`` only, meshes that a URDF names among them.

    Args:
        node: the server.
        given: its parameters.
    """

    def __init__(self, node: Node, given: Parameters) -> None:
        """Declare parameters and serve."""
        self._folder, self._logger = given.request_folder(), node.get_logger()
        text = given.changeable_text
        self._file = text("ball_model.file", "", "a mesh, or with a link a URDF")
        self._link = text("ball_model.link", "", "of the URDF: its collision mesh")
        self._output = text("ball_model.output", "", "of the model; empty: beside it")
        self._spacing = given.changeable_number(
            "ball_model.spacing", 5e-4, "edge of a voxel [m]", self._space, *SPACING
        )
        self._worker: ModelWorker | None = None
        self._reply: Reply | None = None
        self._outcome: BuiltModel | Exception | None = None
        self._target = Path()
        create_deferred_service(node, Trigger, "~/make_ball_model", self._on_request)

    def _space(self, spacing: float) -> None:
        self._spacing = spacing

    def _on_request(self, _: Any, reply: Reply) -> None:
        try:
            if self._reply is not None:
                raise ParameterError("a model is being made: ask again later")
            self._begin()
        except HumansError as error:
            reply.message.success, reply.message.message = False, str(error)
            reply.send()
            return
        self._reply = reply

    def _begin(self) -> None:
        name, link = self._file(), self._link()
        if not name:
            raise ParameterError("set the parameter ball_model.file first")
        source = self._folder.path(name)
        if link:  # the mesh that a description names may not be elsewhere, either
            self._folder.path(str(collision_mesh(source, link)[0].resolve()))
        usual = f"{link}.npz" if link else str(Path(name).with_suffix(".npz"))
        self._target = self._folder.path(self._output() or usual)
        check_output_file(self._target, (".npz",))
        self._outcome = None
        self._worker = ModelWorker(
            source, self._target, self._spacing, link, self._finished
        )

    def _finished(self, outcome: BuiltModel | Exception) -> None:
        self._outcome = outcome

    def answer(self) -> None:
        """Answer whoever asked, once the model is there; the node calls it."""
        if self._reply is None or self._outcome is None:
            return
        outcome, message = self._outcome, self._reply.message
        if isinstance(outcome, BuiltModel):
            message.success = True
            notes = "".join(f"; {line}" for line in outcome.repairs)
            message.message = (
                f"{self._target.name}: {len(outcome.model)} balls, "
                f"{1e3 * outcome.error.rms:.3f} mm rms from the mesh{notes}"
            )
        else:
            message.success, message.message = False, str(outcome)
            if not isinstance(outcome, HumansError):
                self._logger.error(f"no ball model: {outcome!r}")
        self._reply.send()
        self._reply = None
