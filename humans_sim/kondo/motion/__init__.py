# SPDX-License-Identifier: Apache-2.0
"""Channels of the boards, motion files, and how motions are played."""
