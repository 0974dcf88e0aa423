"""Pictures: which files are pictures, how they are opened safely, what they hold."""
