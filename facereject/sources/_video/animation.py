"""Animations (GIF, WebP, APNG, AVIF) through Pillow, as videos with the durations of their frames."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from facereject._files import display_name
from facereject.faces.images import BoundedFile, ImageArray, ImageError, load_rgb, open_picture
from facereject.sources.frame import VideoError, VideoReader

# how long web browsers show a frame that has no duration
_UNTIMED_S = 0.1


class Animation(VideoReader):
    """An animated picture."""

    def __init__(self, path: str, max_pixels: int):
        super().__init__(path)
        name = display_name(path)
        try:
            self._file = BoundedFile(path)
        except OSError as error:
            raise VideoError(f"{name}: not a readable animation ({error.strerror or error})") from None
        try:
            self._picture = open_picture(self._file)
        except Exception as error:
            self._file.close()
            raise VideoError(f"{name}: not a readable animation ({error})") from None
        try:
            width, height = self.size = self._picture.size
            if width * height > max_pixels:
                raise VideoError(
                    f"{name}: frames of {width} x {height} pixels are more than the limit of "
                    f"{max_pixels:,}; make the animation smaller or raise the limit"
                )
            self._file.allow(width * height)
            self.frame_count_hint = self._count()
            self._first = load_rgb(self._picture)
        except ImageError as error:
            self.close()
            raise VideoError(f"{name}: no frame of the animation can be decoded ({error})") from None
        except BaseException:
            self.close()
            raise
        self.size = (self._first.shape[1], self._first.shape[0])
        # browsers use durations only, so animations are made that way
        self.fps = 1 / self._duration()
        self.rate = 1 / Fraction(self._duration()).limit_denominator(1000)

    def _decoded_frames(self) -> Iterator[tuple[float, ImageArray]]:
        """Times in seconds and RGB images; transparent parts are black."""
        time_s, image, index = 0.0, self._first, 0
        while True:
            yield round(time_s, 6), image
            time_s += self._duration()
            index += 1
            try:
                self._file.allow(self._picture.width * self._picture.height)
                self._picture.seek(index)
                image = load_rgb(self._picture)
            except EOFError:
                return
            except Exception:
                # later frames are painted over this one, so they are lost with it
                self.undecodable += max(1, (self.frame_count_hint or 0) - index)
                return

    def close(self) -> None:
        self._picture.close()
        self._file.close()

    def _count(self) -> int | None:
        try:
            return int(getattr(self._picture, "n_frames", 1))
        except Exception:
            # a damaged file; reading shows how far it goes
            return None

    def _duration(self) -> float:
        duration_ms = self._picture.info.get("duration") or 0
        return float(duration_ms) / 1000 if duration_ms > 10 else _UNTIMED_S
