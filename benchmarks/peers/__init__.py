"""The scenes of the benchmarks in other simulators."""
