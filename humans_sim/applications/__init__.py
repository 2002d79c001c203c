"""Scenarios, scenes, graphs: simulations and nodes as files describe them."""
