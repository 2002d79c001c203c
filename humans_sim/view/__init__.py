"""Seeing the models: a browser viewer, drawn from their URDF."""
