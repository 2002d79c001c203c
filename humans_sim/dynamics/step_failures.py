# SPDX-License-Identifier: Apache-2.0
"""Numerical failures of a step, as errors that say what they mean for the motion."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from humans_sim.contact.problem.contact_problem import ContactProblemError
from humans_sim.core.errors import ConfigurationError, HumansError
from humans_sim.dynamics.integrators import IntegrationError
from humans_sim.dynamics.stepper import StepError

FAILURES = (StepError, IntegrationError, ContactProblemError)
"""What ends the event-driven method at some state."""
ENDINGS = (*FAILURES, ConfigurationError, ArithmeticError, np.linalg.LinAlgError)
"""What ends a simulation on its way."""


@contextmanager
def typed_failures() -> Iterator[None]:
    """Raise :class:`StepError` in place of what linear algebra raises.

    Only around mechanics: an error of somebody's controller stays what it is.
    """
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise StepError(
            f"the equations of motion cannot be solved ({error}): a chain of joints "
            "has lost a direction (gimbal lock), a body has no mass, or motion became "
            "infinite"
        ) from error
    except ConfigurationError as error:
        raise StepError(str(error)) from error
    except ArithmeticError as error:
        raise StepError(
            f"the forces or the torques are not finite numbers ({error})"
        ) from error


def reason_of(error: Exception) -> str:
    """What to write about an error; of one that is not ours, its kind too."""
    if isinstance(error, HumansError):
        return str(error)
    return f"{type(error).__name__}: {error}"
