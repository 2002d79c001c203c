# SPDX-License-Identifier: Apache-2.0
"""Common parts of the nodes: processes, parameters, conversions, diagnostics."""
