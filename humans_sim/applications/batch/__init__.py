"""Batches of recordings, reconstructed on several processes."""
