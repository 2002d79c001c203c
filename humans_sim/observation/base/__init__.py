# SPDX-License-Identifier: Apache-2.0
"""The position observer: where the base is, from the joints and soles."""
