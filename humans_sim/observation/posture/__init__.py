# SPDX-License-Identifier: Apache-2.0
"""Postures from optical markers: search, calibration, results."""
