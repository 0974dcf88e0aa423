"""HTML reports."""
