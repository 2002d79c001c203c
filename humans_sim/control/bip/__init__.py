"""Bip: its task function and its inverse, its step, its control law."""
