# SPDX-License-Identifier: Apache-2.0
"""Figures of runs, walks and postures."""
