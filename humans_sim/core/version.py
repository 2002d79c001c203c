# SPDX-License-Identifier: Apache-2.0
"""The version of the package; the build and ``humans_sim.__version__`` read it here."""

__version__ = "0.3.0"
