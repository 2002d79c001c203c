# SPDX-License-Identifier: Apache-2.0
"""Parts of ``work_precision.py``: its scenes, its costs, and how they are shown."""
