# SPDX-License-Identifier: Apache-2.0
"""Human gait: a normal stride and the control that walks it."""
