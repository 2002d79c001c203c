"""The RCB-1's frames and the serial line."""
