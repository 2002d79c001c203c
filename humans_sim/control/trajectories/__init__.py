"""Trajectories, paths and motions, and how they are followed."""
