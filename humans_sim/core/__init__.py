"""What every other part of the library may use."""
