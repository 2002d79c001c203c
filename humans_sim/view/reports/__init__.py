"""Reports of runs and reconstructions as one HTML page."""
