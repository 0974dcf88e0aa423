"""What a run makes beside rows: sorted files, saved videos, timelines, the best of a batch."""
