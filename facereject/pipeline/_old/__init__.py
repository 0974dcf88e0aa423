"""Outputs as the present job takes them; they go when the job takes `facereject.outputs`."""
