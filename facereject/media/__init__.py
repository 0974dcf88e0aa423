"""Sources (images, films, cameras), the table, and its sinks."""
