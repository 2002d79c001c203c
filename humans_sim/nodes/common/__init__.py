"""What the nodes share: processes, parameters, conversions, diagnostics."""
