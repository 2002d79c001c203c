"""What moves the models: so far the swaying of the demonstration."""
