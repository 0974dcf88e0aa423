"""Options that several commands share, and what is read or checked for them."""
