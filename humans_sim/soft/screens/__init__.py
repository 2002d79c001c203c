# SPDX-License-Identifier: Apache-2.0
"""Pin screens: height fields of masses that markers print their trace on."""
