# SPDX-License-Identifier: Apache-2.0
"""The scenes of the benchmarks in other simulators."""
