# SPDX-License-Identifier: Apache-2.0
"""Falls: how a biped notices that it lies, gets up by motions, and walks on."""
