"""Node ``kondo_bridge``."""
