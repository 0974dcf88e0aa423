"""How good a rejector is, the evidence for it, and warnings about the data."""
