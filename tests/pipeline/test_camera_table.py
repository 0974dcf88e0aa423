"""The table of a camera on a disk that fills up: what was saved stays, and can be continued."""

from __future__ import annotations

import numpy as np
import pytest
from limits import files_limited_to
from sample_frames import face, photo

from facereject._options import OptionError
from facereject.outputs.base import Media
from facereject.pipeline import live as camera_table
from facereject.pipeline.live import CameraTable, Live
from facereject.tables.errors import TableError, UnfinishedTableError
from facereject.tables.reading import read_table

CAMERA = Media("camera 0", "camera 0", "video", np.zeros((68, 2)))


def begun(path, **options):
    table = CameraTable(str(path), **options)
    Live([table])
    table.begin(CAMERA)
    return table


def write(table, n_frames):
    for index in range(n_frames):
        table.write(photo("camera 0", [face()], index=index, time_s=index / 10))


@pytest.fixture
def interrupted(tmp_path, monkeypatch):
    """An unfinished table, and how many frames are said to be in it."""
    monkeypatch.setattr(camera_table, "_SAVE_SECONDS", 0.0)
    path = tmp_path / "t.csv"
    table = begun(path)
    with files_limited_to(150_000), pytest.raises(TableError, match="pass `resume`") as error:
        write(table, 1000)
    table.close()
    return path, int(str(error.value).split("; ")[1].split()[0])


def test_a_full_disk_costs_the_last_seconds_only(interrupted):
    path, n_frames = interrupted
    assert n_frames > 5
    assert [file.name for file in path.parent.iterdir()] == ["t.csv.partial"]
    with pytest.raises(UnfinishedTableError):
        begun(path)
    table = begun(path, resume=True)
    write(table, 3)
    table.close()
    frames = list(read_table(str(path)))
    assert [frame.index for frame in frames] == [*range(n_frames + 3)]
    assert np.all(np.diff([frame.time_s for frame in frames]) >= 0)
    assert [file.name for file in path.parent.iterdir()] == ["t.csv"]


def test_it_can_happen_again_and_while_the_table_is_completed(interrupted):
    path, n_frames = interrupted
    for _ in range(2):
        table = begun(path, resume=True)
        write(table, 2)
        n_frames += 2
        with files_limited_to(20_000), pytest.raises(TableError, match="pass `resume`"):
            table.close()
    begun(path, resume=True).close()
    assert len(list(read_table(str(path)))) == n_frames


def test_a_finished_table_is_not_continued(tmp_path):
    table = begun(tmp_path / "t.csv")
    write(table, 2)
    table.close()
    with pytest.raises(OptionError, match="finished"):
        begun(tmp_path / "t.csv", resume=True)
    assert len(list(read_table(str(tmp_path / "t.csv")))) == 2
