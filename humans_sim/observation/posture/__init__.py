"""Postures from optical markers: search, calibration, results."""
