# SPDX-License-Identifier: Apache-2.0
"""Laws for stimulated muscles."""
