"""The position observer: where the base is, from the joints and soles."""
