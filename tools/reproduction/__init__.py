"""The paper's experiments: protocol, stored results, tables and figures; run by ``tools/reproduce.py``."""
