"""Node ``actuation``."""
