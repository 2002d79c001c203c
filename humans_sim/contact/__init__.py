# SPDX-License-Identifier: Apache-2.0
"""Contact geometry: what can be touched, with what, and contact as a joint."""

from humans_sim.core.lazy_names import stub_names

__getattr__, __dir__, __all__ = stub_names(__name__, __file__)
