# SPDX-License-Identifier: Apache-2.0
"""Observation: where a body is, from what its sensors say."""
