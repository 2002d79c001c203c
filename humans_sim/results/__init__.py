"""Runs: what a simulation gives, its checks, CSV and MCAP."""
