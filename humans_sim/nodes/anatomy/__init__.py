# SPDX-License-Identifier: Apache-2.0
"""Node ``anatomy``: a wrist that moves, on topics."""
