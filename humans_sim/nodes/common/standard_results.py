# SPDX-License-Identifier: Apache-2.0
"""Answers of the standard services (simulation_interfaces)."""

from __future__ import annotations

from simulation_interfaces.msg import Result

OK = Result.RESULT_OK


def result(code: int, problem: str = "") -> Result:
    """An answer: its code, and a sentence where something is wrong."""
    return Result(result=code, error_message=problem)


def failed(error: Exception) -> Result:
    """What was asked for was tried, and did not go."""
    return result(Result.RESULT_OPERATION_FAILED, str(error))
