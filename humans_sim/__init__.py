# SPDX-License-Identifier: Apache-2.0
"""Simulate, observe and control bipeds: what users need, as docs/api.md lists it."""

from humans_sim.core.lazy_names import stub_names

__getattr__, __dir__, __all__ = stub_names(__name__, __file__)
