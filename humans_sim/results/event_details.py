# SPDX-License-Identifier: Apache-2.0
"""Names of what the details of events hold."""

DURATION = "duration [s]"
"""How long a hand-over to time steps took."""
