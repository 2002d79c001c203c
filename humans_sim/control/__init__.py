# SPDX-License-Identifier: Apache-2.0
"""Control: task functions, trajectories, whole-body control, laws for muscles.

Import from the modules: they compile kernels, which a node that needs one of them need
not wait for.
"""
