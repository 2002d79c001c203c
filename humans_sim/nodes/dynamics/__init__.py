"""Node ``dynamics``."""
