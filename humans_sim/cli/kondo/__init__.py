"""The commands ``humans-sim kondo``."""
