# SPDX-License-Identifier: Apache-2.0
"""Controllers for stimulated muscles."""
