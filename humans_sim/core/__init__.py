# SPDX-License-Identifier: Apache-2.0
"""What every other part of the library may use."""
