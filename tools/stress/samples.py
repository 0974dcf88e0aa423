"""One small file of every format that is read: images, animations and videos."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import PIL.Image

#: the formats of `write_samples`
STILLS = ("jpg", "mpo", "png", "gif", "webp", "bmp", "tif", "ppm", "pgm", "tga", "jp2", "avif", "heic")
ANIMATIONS = ("moving.gif", "moving.webp", "moving.png")
VIDEOS = {"avi": "MJPG", "mp4": "mp4v", "mkv": "mp4v"}


def write_samples(folder: Path) -> list[Path]:
    """Write the files; those whose package or codec is missing are left out."""
    rng = np.random.default_rng(0)
    noise = cv2.resize(rng.integers(0, 256, (6, 8, 3), dtype=np.uint8), (64, 48))
    still = PIL.Image.fromarray(noise)
    frames = [PIL.Image.fromarray(np.roll(noise, 5 * i, axis=1)) for i in range(4)]
    made = []
    for suffix in STILLS:
        path = folder / f"still.{suffix}"
        picture = still.convert("L") if suffix == "pgm" else still
        try:
            if suffix == "heic":
                import pillow_heif

                pillow_heif.register_heif_opener()
            more = {"save_all": True, "append_images": frames[1:]} if suffix == "mpo" else {}
            picture.save(path, **more)
        except (ImportError, OSError, ValueError, KeyError):
            continue
        made.append(path)
    for name in ANIMATIONS:
        frames[0].save(folder / name, save_all=True, append_images=frames[1:], duration=40)
        made.append(folder / name)
    for suffix, codec in VIDEOS.items():
        path = folder / f"video.{suffix}"
        writer = cv2.VideoWriter(str(path), cv2.CAP_FFMPEG, cv2.VideoWriter.fourcc(*codec), 25.0, (64, 48))
        if not writer.isOpened():
            continue
        for frame in frames * 3:
            writer.write(np.ascontiguousarray(np.asarray(frame)[:, :, ::-1]))
        writer.release()
        made.append(path)
    return made
