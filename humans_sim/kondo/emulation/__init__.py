"""Emulated boards, and a simulated body on them."""
