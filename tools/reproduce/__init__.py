"""The paper's experiments: protocol, stored results, tables, figures. Run ``python -m tools.reproduce``."""
