"""Videos for the tests: written by OpenCV, then changed byte by byte where OpenCV cannot write them."""

from __future__ import annotations

import os
import struct

import av
import cv2
import numpy as np

# for a process whose first video is written, not read
os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")

RATE = 30000 / 1001
CONTAINERS = ("moov", "trak", "mdia", "minf", "stbl", "edts")


def picture(index, size=(160, 120)):
    """RGB noise of large patches with the number of the frame as grey level of its upper left quarter."""
    width, height = size
    patches = np.random.default_rng(index).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    image = cv2.resize(patches, size, interpolation=cv2.INTER_NEAREST)
    image[: height // 2, : width // 2] = 8 * (index % 32)
    return image


def number_of(image):
    """The number of the frame, as `picture` wrote it."""
    height, width = image.shape[:2]
    return round(float(image[: height // 3, : width // 3].mean()) / 8)


def write_video(path, n_frames=30, *, code="MJPG", rate=RATE, size=(160, 120)):
    writer = cv2.VideoWriter(str(path), cv2.CAP_FFMPEG, cv2.VideoWriter_fourcc(*code), rate, size)
    assert writer.isOpened()
    for index in range(n_frames):
        writer.write(picture(index, size)[:, :, ::-1])
    writer.release()
    return path


def jpeg_places(data):
    """Start and end of every JPEG in the bytes of a video."""
    starts = []
    at = data.find(b"\xff\xd8\xff")
    while at >= 0:
        starts.append(at)
        at = data.find(b"\xff\xd8\xff", at + 1)
    return [(start, data.index(b"\xff\xd9", start) + 2) for start in starts]


def damage_frames(path, indices):
    """Overwrite the JPEGs of some frames of an MJPG video."""
    data = bytearray(path.read_bytes())
    places = jpeg_places(bytes(data))
    for index in indices:
        start, end = places[index]
        data[start:end] = bytes(end - start)
    path.write_bytes(data)


def edit_mp4(path, edits):
    """Replace the contents of boxes: ``edits`` maps the name of a box to a function of its content."""
    path.write_bytes(_edited(path.read_bytes(), edits))


def _edited(data, edits):
    # OpenCV writes the index behind the frames, so it may grow without moving them
    boxes, at = [], 0
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at : at + 8])
        content, name = data[at + 8 : at + size], name.decode("latin-1")
        if name in edits:
            content = edits[name](content)
        elif name in CONTAINERS:
            content = _edited(content, edits)
        boxes.append(struct.pack(">I4s", len(content) + 8, name.encode("latin-1")) + content)
        at += size
    return b"".join(boxes)


def display_matrix(a, b, c, d):
    """Makes the content of a "tkhd" box: a pixel (x, y) is shown at (a x + c y, b x + d y)."""
    matrix = struct.pack(">9i", a << 16, b << 16, 0, c << 16, d << 16, 0, 0, 0, 1 << 30)
    return lambda content: content[:40] + matrix + content[76:]


def quarter_turn(content):
    """The content of a "tkhd" box with a rotation by 90 degrees clockwise."""
    return display_matrix(0, 1, -1, 0)(content)


def durations(runs):
    """Makes the content of an "stts" box: ``runs`` of (number of frames, ticks of each)."""
    return lambda content: (
        struct.pack(">II", 0, len(runs)) + b"".join(struct.pack(">II", *run) for run in runs)
    )


def shown(first_tick=0, length_ms=None):
    """Makes the content of an "elst" box: what of the video is shown; the length stays if not given."""

    def edit(content):
        length = struct.unpack(">I", content[8:12])[0] if length_ms is None else length_ms
        return struct.pack(">IIIiI", 0, 1, length, first_tick, 1 << 16)

    return edit


def encode(path, images, *, codec="libx264", rate=25, sound=None, **options):
    """A video by PyAV itself, not by the writer under test; ``sound`` is (encoder, rate, mono samples)."""
    if codec == "libx264":
        options = {"preset": "ultrafast", **options}
    with av.open(str(path), "w") as container:
        stream = container.add_stream(
            codec, rate=rate, options={name: str(value) for name, value in options.items()}
        )
        heard = None
        if sound is not None:
            heard = container.add_stream(sound[0], rate=sound[1])
            heard.layout = "stereo"
        stream.pix_fmt = "yuv420p"
        for index, image in enumerate(images):
            if index == 0:
                stream.height, stream.width = image.shape[:2]
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode())
        if heard is not None:
            both = np.stack([sound[2], sound[2]]).astype(np.float32)
            frame = av.AudioFrame.from_ndarray(both, format="fltp", layout="stereo")
            frame.sample_rate = sound[1]
            frame.pts = 0
            container.mux(heard.encode(frame))
            container.mux(heard.encode())
    return path


def packets_of(path):
    """Place, length, time stamp and whether it is a key frame, for every packet of the pictures."""
    with av.open(str(path)) as container:
        packets = [packet for packet in container.demux(video=0) if packet.size]
        return [(packet.pos, packet.size, packet.pts, packet.is_keyframe) for packet in packets]


def damage_packets(path, indices):
    """Overwrite some packets of an MP4, in the order of decoding."""
    places, data = packets_of(path), bytearray(path.read_bytes())
    for index in indices:
        place, size, *_ = places[index]
        data[place : place + size] = bytes(size)
    path.write_bytes(data)
