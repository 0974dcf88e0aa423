"""Many inputs into one table: what to do, doing it, sorting the files, timelines."""
