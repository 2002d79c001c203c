"""Films, film strips and pages of a run."""
