"""The time-stepping method: impulses over steps of fixed length."""
