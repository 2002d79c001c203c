# SPDX-License-Identifier: Apache-2.0
"""Actuation: what turns commands into joint torques."""

from humans_sim.core.lazy_names import stub_names

__getattr__, __dir__, __all__ = stub_names(__name__, __file__)
