"""What commands show to people: progress, rows, reports, strips of videos."""
