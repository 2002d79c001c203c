# SPDX-License-Identifier: Apache-2.0
"""When to couple models both ways, one way, or not at all."""
