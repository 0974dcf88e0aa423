"""The moving picture of the README: the filter at work on a synthetic video, as an animated WebP.

    python tools/docs/readme_picture.py docs/filter.webp

A camera moves over scikit-image's astronaut (NASA, public domain) while the picture gets blurred, hazy,
turned and covered. Below it the decision on every frame so far: green is accepted, red rejected, grey without
a face.
"""

from __future__ import annotations

import argparse
import io
from pathlib import Path

import numpy as np
import PIL.Image

from facereject import FaceRejector
from facereject.demo.material import FPS, SIZE, clean_picture, video_frames
from facereject.outputs._drawing.faces import GREEN, RED, draw_faces
from facereject.tracking import FaceTracker

BAR = 14
LIMIT = 1_000_000
GREY = (150, 150, 150)


def frames() -> list[PIL.Image.Image]:
    """The scored frames, each with the decisions so far."""
    images = list(video_frames(clean_picture()))
    tracker = FaceTracker(FaceRejector.pretrained())
    width = SIZE[0]
    bar = np.full((BAR, width, 3), 235, dtype=np.uint8)
    edges = np.linspace(0, width, len(images) + 1).round().astype(int)
    made = []
    for i, image in enumerate(images):
        faces = [found.face for found in tracker.update(image, time_s=i / FPS)]
        accepted = bool(faces) and all(face.accepted for face in faces)
        bar[2:, edges[i] : edges[i + 1]] = GREEN if accepted else RED if faces else GREY
        canvas = np.concatenate([draw_faces(image, faces), bar])
        made.append(PIL.Image.fromarray(canvas))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--quality", type=int, default=70)
    options = parser.parse_args()
    first, *others = frames()
    stream = io.BytesIO()
    first.save(
        stream,
        "WEBP",
        save_all=True,
        append_images=others,
        duration=round(1000 / FPS),
        loop=0,
        quality=options.quality,
        method=4,
    )
    data = stream.getvalue()
    if len(data) > LIMIT:
        raise SystemExit(f"{len(data):,} bytes are more than {LIMIT:,}: lower --quality")
    options.path.write_bytes(data)
    print(f"{options.path}: {len(data):,} bytes, {len(others) + 1} frames")


if __name__ == "__main__":
    main()
