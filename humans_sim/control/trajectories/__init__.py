# SPDX-License-Identifier: Apache-2.0
"""Trajectories, paths and motions, and how they are followed."""
