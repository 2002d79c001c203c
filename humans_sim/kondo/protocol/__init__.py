# SPDX-License-Identifier: Apache-2.0
"""The RCB-1's frames and the serial line."""
