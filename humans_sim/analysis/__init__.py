# SPDX-License-Identifier: Apache-2.0
"""Analysis of runs and reconstructions: gait, strides, torques, comparisons."""
