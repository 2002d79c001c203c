"""Node ``viewer``."""
