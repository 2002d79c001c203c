# SPDX-License-Identifier: Apache-2.0
"""Scenes of free rigid bodies, with a biped among them or without."""

from humans_sim.dynamics.scene_bodies import SceneBody
from humans_sim.dynamics.scenes.flying_scene import FlyingScene
from humans_sim.dynamics.scenes.scene_system import SceneSystem

__all__ = ["FlyingScene", "SceneBody", "SceneSystem"]
