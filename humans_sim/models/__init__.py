# SPDX-License-Identifier: Apache-2.0
"""What is simulated: Human36, Bip, KHR-1, any two-legged URDF."""

from humans_sim.models.catalogue import load_model
from humans_sim.models.model import Model
from humans_sim.models.named_models import NAMES

__all__ = ["NAMES", "Model", "load_model"]
