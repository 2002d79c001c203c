# SPDX-License-Identifier: Apache-2.0
"""The viewer's pages in a browser."""
