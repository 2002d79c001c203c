# SPDX-License-Identifier: Apache-2.0
r"""Which share of a muscle's fibres a stimulation pulse recruits (manual 1.2.2).

.. math:: \alpha = \tfrac12 + \tfrac12\,
   \frac{\tanh 5 (p / (p_w i)_{max} - \tfrac12)}{\tanh \tfrac52}

p is the charge of the pulse, its width times its current: nothing at zero, every fibre
at the stimulator's largest pulse.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from humans_sim.core.checked_numbers import PositiveNumbers
from humans_sim.core.errors import ParameterError

_STEEPNESS = 5.0
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Stimulator(PositiveNumbers):
    """The largest pulse a stimulator gives (manual table 1.2; its numbers are assumed).

    Attributes:
        max_width: pw_max [s].
        max_current: i_max [A].
    """

    max_width: float = 500e-6
    max_current: float = 0.1

    @property
    def max_charge(self) -> float:
        """Charge of the largest pulse [A s]."""
        return self.max_width * self.max_current

    def charge(self, recruitment: float) -> float:
        """Charge that recruits this share of the fibres [A s]; the inverse curve."""
        if not 0.0 <= recruitment <= 1.0:
            raise ParameterError(f"recruitment must be 0 to 1, not {recruitment}")
        slope = (2.0 * recruitment - 1.0) * math.tanh(_STEEPNESS / 2)
        share = 0.5 + math.atanh(slope) / _STEEPNESS
        return min(max(share, 0.0), 1.0) * self.max_charge

    def recruitment(self, charge: float) -> float:
        """Share of the fibres that a pulse of this charge recruits, 0 to 1.

        Args:
            charge: pulse width times current [A s].

        Raises:
            ParameterError: negative, not a number, or beyond the largest pulse.
        """
        if not 0.0 <= charge <= self.max_charge * (1.0 + _ROUNDING):
            raise ParameterError(
                f"a pulse must have 0 to {self.max_charge:g} A s (width times "
                f"current), not {charge}"
            )
        share = min(charge / self.max_charge, 1.0)
        slope = math.tanh(_STEEPNESS * (share - 0.5))
        return 0.5 + 0.5 * slope / math.tanh(_STEEPNESS / 2)
