# SPDX-License-Identifier: Apache-2.0
"""The driver of a real robot: boards, safety, streams of set points."""
