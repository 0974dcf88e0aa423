"""The table: its rows, reasons and file formats."""
