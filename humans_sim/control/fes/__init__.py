"""Laws for stimulated muscles."""
