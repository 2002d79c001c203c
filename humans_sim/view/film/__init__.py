# SPDX-License-Identifier: Apache-2.0
"""Films, film strips and pages of a run."""
