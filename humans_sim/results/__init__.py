# SPDX-License-Identifier: Apache-2.0
"""Runs: what a simulation gives, its checks, CSV and MCAP."""
