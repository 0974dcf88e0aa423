"""What is kept of a run while it lasts, so that it can be continued."""
