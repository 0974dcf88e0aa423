"""Sinks other than files: streams, and nowhere."""

from __future__ import annotations

import csv
import errno
import io

import pytest
from sample_tables import sample_rows

from facereject.outputs.summary import Tally
from facereject.pipeline._store.sinks import NullSink, StreamSink, TableError
from facereject.tables.rows import COLUMNS


def test_stream():
    stream = io.BytesIO()
    with StreamSink(stream) as sink:
        sink.write(sample_rows()[:2])
        sink.end_input("a", Tally(1, failure="unreadable: x"))
    header, *lines = csv.reader(io.StringIO(stream.getvalue().decode(), newline=""))
    assert tuple(header) == COLUMNS
    assert len(lines) == 2
    assert sink.summary.failed == 1


def test_stream_that_cannot_be_written():
    class Stream(io.BytesIO):
        def flush(self):
            raise self.error

    stream = Stream()
    for stream.error, expected in (
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), BrokenPipeError),
        (OSError(errno.ENOSPC, "No space left on device"), TableError),
    ):
        with pytest.raises(expected):
            StreamSink(stream).__enter__()


def test_null_sink_counts():
    handed = []
    with NullSink(lambda path, counts: handed.append(path)) as sink:
        sink.write(sample_rows())
        sink.end_input("a", Tally(2, faces=3))
    assert handed == ["a"]
    assert sink.summary.total == Tally(2, faces=3)
    assert not sink.has("a")
