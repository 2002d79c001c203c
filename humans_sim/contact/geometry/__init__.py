"""Solids, the ground and feet on balls: where things touch."""
