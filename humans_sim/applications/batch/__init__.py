# SPDX-License-Identifier: Apache-2.0
"""Batches of recordings, reconstructed on several processes."""
