# SPDX-License-Identifier: Apache-2.0
"""Contact as a joint: surfaces that roll and slide on each other."""
