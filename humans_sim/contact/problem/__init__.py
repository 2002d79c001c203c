"""The laws of contact, friction and impact, and their solvers."""
