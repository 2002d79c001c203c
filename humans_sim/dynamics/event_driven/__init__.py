"""The event-driven method: smooth motion between events."""
