# SPDX-License-Identifier: Apache-2.0
"""The event-driven method: smooth motion between events."""
