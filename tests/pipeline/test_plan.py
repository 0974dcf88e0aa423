"""The plan of a run: what is missing, counted beforehand."""

from __future__ import annotations

import pytest
from video_files import write_video

from facereject._files import InputError
from facereject.outputs import Output
from facereject.outputs.summary import Counts
from facereject.parallel import WorkerEngine
from facereject.parallel.base import SerialEngine
from facereject.pipeline import plan
from facereject.pipeline.plan import plan_run
from facereject.pipeline.store import Store
from facereject.pipeline.task import problem_frame


@pytest.fixture
def photos(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").mkdir()
    for name in "abcd":
        (tmp_path / "photos" / f"{name}.jpg").touch()
    return [f"photos/{name}.jpg" for name in "abcd"]


def begin(*paths):
    """A table that knows these inputs from an earlier run."""
    with Store("t.csv") as store:
        for path in paths:
            store.write([problem_frame(path, "unreadable: for the test")])
            store.end_input(path, Counts())
    return Store("t.csv", resume=True)


def paths_of(work):
    return [item.path for item in work.inputs]


class Holds(Output):
    def holds(self, path):
        return path.endswith("b.jpg")


@pytest.mark.parametrize("kept", [20, 1000])
def test_all_inputs_once_however_many_are_kept_in_memory(photos, monkeypatch, kept):
    monkeypatch.setattr(plan, "_MAX_BYTES", kept)
    work = plan_run(["photos"], Store(None), [Holds()])
    assert paths_of(work) == [photos[0], *photos[2:]]
    assert (work.total, work.frames) == (3, None)


def test_frames_are_counted_where_videos_are_few(photos, tmp_path, monkeypatch):
    write_video(tmp_path / "photos" / "video.avi", 5)
    (tmp_path / "photos" / "broken.mp4").write_text("no video")
    here = SerialEngine()
    assert plan_run(["photos"], Store(None), engine=here)[1:] == (6, 9, 2)
    assert plan_run(["photos"], Store(None))[1:] == (6, None, 2)
    assert plan_run(["photos/video.avi"], Store(None), engine=here)[1:] == (1, 5, 1)
    with monkeypatch.context() as patch:
        patch.setattr(plan, "_MAX_OPENED", 1)
        assert plan_run(["photos"], Store(None), engine=here)[1:] == (6, None, 2)
    # photos are not opened, however many they are
    with monkeypatch.context() as patch:
        patch.setattr(plan, "_MAX_OPENED", 2)
        assert plan_run(["photos"], Store(None), engine=here).frames == 9
    # where there are worker processes, they look
    monkeypatch.setattr(plan, "open_video", None)
    assert plan_run(["photos"], Store(None), engine=WorkerEngine(2))[1:] == (6, 9, 2)


@pytest.mark.parametrize(
    "argument", ["photos", "photos/*.jpg", "@list", "photos/a.jpg", "./photos/", "../{}/photos/*.jpg"]
)
def test_files_that_an_earlier_run_has_moved(photos, tmp_path, argument):
    argument = argument.format(tmp_path.name)
    (tmp_path / "list").write_text("\n".join(photos))
    for path in photos:
        (tmp_path / path).unlink()
    with begin(*photos) as store:
        assert paths_of(plan_run([argument], store)) == []
        with pytest.raises(InputError, match=r"nowhere\.jpg: no such file"):
            plan_run([argument, "nowhere.jpg"], store)
    with pytest.raises(InputError):
        plan_run([argument], Store(None))


def test_inputs_of_the_table_are_done(photos):
    with begin(photos[1]) as store:
        assert paths_of(plan_run(["photos"], store)) == [photos[0], *photos[2:]]
