# SPDX-License-Identifier: Apache-2.0
"""Dynamics with contact, impact, friction and joint limits."""

from humans_sim.core.lazy_names import stub_names

__getattr__, __dir__, __all__ = stub_names(__name__, __file__)
