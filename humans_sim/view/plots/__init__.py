"""Figures of runs, walks and postures."""
