"""Reading, writing and following faces through videos."""
