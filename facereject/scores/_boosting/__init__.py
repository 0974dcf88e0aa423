"""Boosted scores: the trees of LightGBM, where they start and how many there are."""
