"""Node ``walk``."""
