# SPDX-License-Identifier: Apache-2.0
"""Files of models: YAML, URDF and xacro, read and written."""
