# SPDX-License-Identifier: Apache-2.0
"""A look at a recording before postures are sought: can it be a person of this set?"""
