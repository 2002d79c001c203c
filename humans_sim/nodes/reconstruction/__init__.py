"""Node ``reconstruction``."""
