# SPDX-License-Identifier: Apache-2.0
"""Reports of runs and reconstructions as one HTML page."""
