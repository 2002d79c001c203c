"""The command ``humans-sim``."""
