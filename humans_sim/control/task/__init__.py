"""Task functions, shares of forces, whole-body control."""
