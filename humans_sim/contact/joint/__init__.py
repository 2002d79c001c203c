"""Contact as a joint: surfaces that roll and slide on each other."""
