# SPDX-License-Identifier: Apache-2.0
"""Numbers of users as the arrays that pinocchio takes.

Pinocchio's converter takes arrays of float64 and what casts to it safely. It refuses
lists, float16, longdouble, objects and complex numbers, with an error that names none
of them, and misreads arrays of the other byte order. Complex numbers come from
``numpy.linalg.eig``, which gives them always from numpy 2.5 on, also where all
eigenvalues are real.
"""

from __future__ import annotations

import numpy as np

from humans_sim.core.errors import HumansError, ParameterError

_FLOAT = np.dtype(float)


def real_array(
    values: object, what: str, error: type[HumansError] = ParameterError
) -> np.ndarray:
    """An array of float64; the given one where it is that already.

    Args:
        values: numbers in any form that numpy reads; complex ones without an imaginary
            part.
        what: their name in the error.
        error: raised where they are no real numbers.
    """
    if type(values) is np.ndarray and values.dtype == _FLOAT:
        return values
    try:
        array = np.asarray(values)
        imaginary = array.dtype.kind == "c" and bool(np.any(array.imag))
        real = (array.real if array.dtype.kind == "c" else array).astype(_FLOAT)
    except (TypeError, ValueError, OverflowError):
        raise error(f"{what}: numbers are wanted, not {values!r}") from None
    if imaginary:
        raise error(f"{what}: real numbers are wanted, not complex ones")
    return real


def finite_array(
    values: object,
    shape: tuple[int, ...],
    what: str,
    error: type[HumansError] = ParameterError,
) -> np.ndarray:
    """An array of float64 of a shape, of finite numbers.

    Args:
        values: as of :func:`real_array`.
        shape: what they must have.
        what: their name in the error.
        error: raised where they are something else.
    """
    array = real_array(values, what, error)
    if array.shape != shape:
        size = " x ".join(str(n) for n in shape)
        raise error(f"{what}: {size} finite numbers are wanted, not {array.shape}")
    if not np.isfinite(array).all():
        bad = array[~np.isfinite(array)][0]
        raise error(f"{what}: finite numbers are wanted, not {bad}")
    return array
