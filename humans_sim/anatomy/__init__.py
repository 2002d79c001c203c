# SPDX-License-Identifier: Apache-2.0
"""Bones: volumes, ball models, contacts of balls, ligaments, the carpus.

After A. F. Perez, "Modélisation de la dynamique du carpe" (Grenoble, 1994).
"""

from humans_sim.core.lazy_names import stub_names

__getattr__, __dir__, __all__ = stub_names(__name__, __file__)
