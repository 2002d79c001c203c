# SPDX-License-Identifier: Apache-2.0
"""What the nodes share: processes, parameters, conversions, diagnostics."""
