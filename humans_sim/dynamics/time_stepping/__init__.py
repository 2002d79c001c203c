# SPDX-License-Identifier: Apache-2.0
"""The time-stepping method: impulses over steps of fixed length."""
