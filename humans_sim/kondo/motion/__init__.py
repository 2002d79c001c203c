"""Channels of the boards, motion files, and how motions are played."""
