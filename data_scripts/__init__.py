"""Data sets of the paper: what they are, where the originals are, how to bring them into one format."""
