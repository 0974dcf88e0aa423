"""The model, a server, a photograph and a clip, shared by the tests."""

from __future__ import annotations

import numpy as np
import pytest
import skimage.data
from serving import jpeg, running

from facereject import FaceRejector
from facereject.outputs._video.writer import VideoWriter


@pytest.fixture(scope="session")
def rejector():
    return FaceRejector.pretrained()


@pytest.fixture(scope="session")
def server(rejector):
    """The usual server, shared by tests that leave it as it is."""
    with running(rejector, others={"thorough": lambda: FaceRejector.pretrained("thorough")}) as found:
        yield found


@pytest.fixture(scope="session")
def photo():
    """A photograph with one face, as RGB."""
    return np.ascontiguousarray(skimage.data.astronaut()[:240, 80:400])


@pytest.fixture(scope="session")
def photo_jpeg(photo):
    return jpeg(photo)


@pytest.fixture(scope="session")
def clip(tmp_path_factory, photo):
    """A video of 12 frames, the last 4 of them black."""
    path = tmp_path_factory.mktemp("clip") / "clip.mp4"
    with VideoWriter(str(path), 10, (320, 240)) as video:
        for shift in range(12):
            face = np.roll(photo, shift, axis=1)
            video.write(np.zeros_like(face) if shift >= 8 else face)
    return path
