"""facereject tells you which predictions to trust: learned uncertainty scores and reject options."""

__version__ = "0.1.0"
