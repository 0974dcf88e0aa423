"""Opening a video opens that file and nothing else."""

from __future__ import annotations

import builtins
import os

import pytest
from video_files import picture, write_video

from facereject.sources._video import container as source
from facereject.sources.video import VideoError, open_video


@pytest.fixture
def canary(tmp_path):
    """A video that must not be read through another file; any attempt changes its time of access."""
    path = write_video(tmp_path / "canary.avi", 5)
    os.utime(path, (1, 1))
    return path


PLAYLISTS = {
    "list.ffconcat": "ffconcat version 1.0\nfile '{path}'\n",
    "list.txt": "ffconcat version 1.0\nfile '{name}'\n",
    "list.m3u8": "#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\n{path}\n#EXT-X-ENDLIST\n",
    "list.mpd": (
        '<?xml version="1.0"?>\n<MPD type="static" mediaPresentationDuration="PT5S"><Period><AdaptationSet>'
        '<Representation id="1" mimeType="video/avi"><BaseURL>{path}</BaseURL></Representation>'
        "</AdaptationSet></Period></MPD>\n"
    ),
    "list.sdp": "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nm=video 5004 RTP/AVP 26\n",
    "list.ref": "[Reference]\nRef1={path}\n",
}


# under any name: FFmpeg goes by the content
@pytest.mark.parametrize("suffix", ["", ".mp4", ".avi", ".mkv"])
@pytest.mark.parametrize("playlist", sorted(PLAYLISTS))
def test_playlists_are_refused_and_lead_nowhere(tmp_path, canary, playlist, suffix, monkeypatch):
    path = tmp_path / (playlist + suffix)
    path.write_text(PLAYLISTS[playlist].format(path=canary, name=canary.name))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(VideoError) as caught:
        open_video(path)
    assert str(caught.value).startswith(f"{path}: ")
    # the formats themselves are refused, and not only what they lead to
    with pytest.raises(VideoError, match=r"not a video|playlist"):
        source.MediaFile(str(path))
    assert os.stat(canary).st_atime == 1


def test_names_are_no_addresses(tmp_path, canary, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (
        "concat:canary.avi",
        "subfile,,start,0,end,0,,:canary.avi",
        "file:canary.avi",
        "http://x/a.avi",
    ):
        with pytest.raises(VideoError, match="no such file"):
            open_video(name)
    assert os.stat(canary).st_atime == 1


def test_a_quicktime_file_that_refers_to_another_one_is_not_followed(tmp_path, canary):
    from video_files import edit_mp4

    path = write_video(tmp_path / "f.mov", 3, code="mp4v")
    # a data reference that is not "in this file" (flag 0), with an alias that names the other one
    alias = b"alis" + b"\0\0\0\0" + str(canary).encode().ljust(150, b"\0")
    entry = (len(alias) + 4).to_bytes(4, "big") + alias
    edit_mp4(
        path,
        {
            "dinf": lambda content: (
                (len(entry) + 16).to_bytes(4, "big") + b"dref" + bytes(4) + b"\0\0\0\1" + entry
            )
        },
    )
    try:
        with open_video(path) as video:
            list(video)
    except VideoError:
        pass
    assert os.stat(canary).st_atime == 1


@pytest.mark.parametrize("name", ["f.png", "f.jpg", "f.bmp"])
def test_pictures_under_the_name_of_a_video_are_refused(tmp_path, name):
    import PIL.Image

    PIL.Image.fromarray(picture(1)).save(tmp_path / name)
    os.rename(tmp_path / name, tmp_path / "f.mp4")
    with pytest.raises(VideoError, match="not a video in a format that can be read"):
        open_video(tmp_path / "f.mp4")


def test_one_file_is_opened_however_it_is_read(tmp_path, monkeypatch):
    path = write_video(tmp_path / "f.avi", 5)
    opened = []
    honest = builtins.open

    def noted(file, *args, **options):
        opened.append(str(file))
        return honest(file, *args, **options)

    monkeypatch.setattr(builtins, "open", noted)
    with open_video(path) as video:
        assert len(list(video)) == 5
    assert set(opened) == {str(path)}


def test_a_file_with_sound_only_has_no_frames(tmp_path):
    import av
    import numpy as np

    with av.open(str(tmp_path / "f.mp4"), "w") as container:
        stream = container.add_stream("aac", rate=44100)
        stream.layout = "mono"
        frame = av.AudioFrame.from_ndarray(
            np.zeros((1, 4410), dtype=np.float32), format="fltp", layout="mono"
        )
        frame.sample_rate = 44100
        container.mux(stream.encode(frame))
        container.mux(stream.encode())
    with pytest.raises(VideoError, match=r"f\.mp4: there are no frames in this file"):
        open_video(tmp_path / "f.mp4")
