"""Limits of the system, as on a full disk."""

from __future__ import annotations

import resource
from contextlib import contextmanager


@contextmanager
def files_limited_to(n_bytes):
    """No file may grow beyond a size: what a full disk is to a program."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
