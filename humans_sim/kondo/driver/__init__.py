"""The driver of a real robot: boards, safety, streams of set points."""
