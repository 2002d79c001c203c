# SPDX-License-Identifier: Apache-2.0
"""Models: Human36, Bip, KHR-1, any two-legged URDF."""

from humans_sim.models.catalogue import load_model
from humans_sim.models.files.named_models import NAMES
from humans_sim.models.model import Model

__all__ = ["NAMES", "Model", "load_model"]
