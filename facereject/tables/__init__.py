"""The one table: rows and reasons, formats, sinks, journal."""
