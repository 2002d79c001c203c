# SPDX-License-Identifier: Apache-2.0
"""Marker sets proposed from recordings, for a person to correct."""
