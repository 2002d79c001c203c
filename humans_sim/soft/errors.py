# SPDX-License-Identifier: Apache-2.0
"""Errors of soft things: networks, pin screens, couplings, implicit surfaces."""

from __future__ import annotations

from humans_sim.core.errors import HumansError


class SoftError(HumansError, ValueError):
    """A network, a pin screen, a coupling or a surface that cannot be."""


class NetworkConnectionError(SoftError):
    """Communication points that may not be connected, or one left open."""


class UnstableStepError(SoftError):
    """A mode leaves the triangle of stability in the plane (K, Z).

    Attributes:
        stiffness: K = k T² / m of the mode.
        viscosity: Z = z T / m of the mode.
    """

    def __init__(self, where: str, stiffness: float, viscosity: float) -> None:
        """Compose the message: which mode, which bound, what to do."""
        self.stiffness, self.viscosity = float(stiffness), float(viscosity)
        if stiffness < 0:
            bound = f"K = {stiffness:.6g} < 0: its stiffness is negative"
        elif viscosity < 0:
            bound = f"Z = {viscosity:.6g} < 0: its viscosity is negative"
        else:
            bound = (
                f"K + 2 Z = {stiffness:.6g} + 2 * {viscosity:.6g} = "
                f"{stiffness + 2 * viscosity:.6g} > 4; shorten the period, soften it "
                "or make its masses heavier"
            )
        super().__init__(f"{where}: unstable, {bound}")


class CouplingError(SoftError):
    """A coupling of models that cannot be cut or staged as asked."""
