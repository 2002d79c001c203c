# SPDX-License-Identifier: Apache-2.0
"""What runs and reconstructions show: gait, strides, torques, comparisons."""
