# SPDX-License-Identifier: Apache-2.0
"""Common parts that all of the library may use."""
