"""The page of the demonstration: images and video with landmarks, expected errors and decisions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import matplotlib.figure

from facereject import __version__
from facereject.demo.material import FPS, Picture, Scene, scenes
from facereject.faces import Face, FaceRejector
from facereject.faces.face import CAUSES
from facereject.faces.images.load import ImageArray
from facereject.faces.models.card import LICENCE, target_words
from facereject.outputs._drawing.crops import face_crop
from facereject.outputs._drawing.faces import draw_faces
from facereject.plotting._style import GREY, PALETTE, tidy
from facereject.reports import pages

# margins of the chart of the video, in shares of its width; the strip above it has the same
_LEFT, _RIGHT = 0.11, 0.97


class ScoredImage(NamedTuple):
    """An image, its face (None if none was found), and how far the landmarks moved, in percent."""

    picture: Picture
    face: Face | None
    moved: float

    @property
    def accepted(self) -> bool:
        """Whether its landmarks are to be trusted."""
        return self.face is not None and self.face.accepted


class ScoredRegion(NamedTuple):
    """An image scored by one region of the face; None if no face was found."""

    name: str
    picture: Picture
    face: Face | None


class ScoredFrame(NamedTuple):
    """A frame of the video.

    ``image`` is as recorded and ``annotated`` as drawn; ``face`` is the one with the largest expected error,
    None without a face.
    """

    image: ImageArray
    annotated: ImageArray
    time_s: float
    accepted: bool
    face: Face | None

    @property
    def expected(self) -> float:
        """Expected error in percent, NaN without a face."""
        return math.nan if self.face is None else self.face.expected_error


def demo_page(
    scored: Sequence[ScoredImage],
    regions: Sequence[ScoredRegion],
    frames: Sequence[ScoredFrame],
    animation: bytes,
    rejector: FaceRejector,
    model: str,
) -> str:
    """The page as HTML; ``animation`` is the annotated video as WebP."""
    lead = (
        "scikit-image's photo of an astronaut, clean and degraded on purpose. dlib places 68 landmarks on "
        "each version; facereject says how wrong they probably are, and which to trust."
    )
    return pages.page(
        "Which landmarks can be trusted?",
        lead,
        _pictures(scored),
        *([_regions(regions)] if regions else []),
        _video(frames, animation, rejector),
        _meaning(rejector, model),
        _next(),
        footer=f"facereject {__version__}. {LICENCE}",
    )


def spans(frames: Sequence[ScoredFrame]) -> list[tuple[int, str]]:
    """Runs of equal decisions: how many frames, and "good", "bad" or "none" (no face found)."""
    kinds = ("good" if frame.accepted else "bad" if frame.face else "none" for frame in frames)
    return [(len(list(run)), kind) for kind, run in itertools.groupby(kinds)]


def _pictures(scored: Sequence[ScoredImage]) -> str:
    cards = []
    for picture, face, moved in scored:
        points = None if face is None else face.landmarks
        accepted = face is not None and face.accepted
        lines = ["no face found"]
        if face is not None:
            lines = [
                f"expected error {face.expected_error:.1f} %",
                f"landmarks moved {moved:.1f} %",
                f"uncertainty {face.uncertainty:.2f}",
                f"detector score {face.detector_score:.2f}",
            ]
            if face.cause in CAUSES:
                lines.append(CAUSES[face.cause])
        crop = face_crop(picture.image, points, accepted, around=picture.landmarks)
        cards.append(pages.face(crop, accepted, picture.name, lines))
    text = (
        "Landmarks of accepted faces are green, those of rejected faces red. The number after the name says "
        "how strongly the photo was degraded: 0 is barely visible, 1 is hopeless."
    )
    return pages.section("Images", pages.paragraph(text), pages.faces(cards, large=True))


def _regions(regions: Sequence[ScoredRegion]) -> str:
    """One covered face, accepted for what is seen of it and rejected for what is not."""
    cards = []
    for name, picture, face in regions:
        accepted = face is not None and face.accepted
        image = picture.image if face is None else draw_faces(picture.image, [face], labels=False)
        lines = ["no face found"]
        if face is not None:
            lines = [f"expected error {face.expected_error:.1f} %"]
            lines += [face.hint] if face.hint else []
        crop = face_crop(image, None, accepted, around=picture.landmarks)
        cards.append(pages.face(crop, accepted, name, lines))
    text = (
        "A face can be good enough for one purpose and not for another. Here the same photo is scored by the "
        "eyes alone and by the mouth alone (--region eyes, --region mouth). A landmark is larger and redder "
        "the larger its expected error; rings mark landmarks that are probably covered."
    )
    return pages.section("Regions", pages.paragraph(text), pages.faces(cards, large=True))


def _video(frames: Sequence[ScoredFrame], animation: bytes, rejector: FaceRejector) -> str:
    accepted = sum(frame.accepted for frame in frames)
    length = len(frames) / FPS
    limit = float(rejector.calibration.expected_error(rejector.selector.threshold_))
    figure = _draw_video(frames, scenes(), limit)
    text = (
        f"{len(frames)} frames, {length:.1f} seconds; {accepted} frames are accepted. The camera moves, "
        "while the image is blurred, hazy, rotated and covered in turn."
    )
    strip = pages.strip(spans(frames), left=_LEFT, right=1 - _RIGHT)
    legend = "Green: accepted. Red: rejected. Grey: no face found."
    cards = [_card(scene.kind, _telling(frames[scene.start : scene.end + 1])) for scene in scenes()]
    return pages.section(
        "Video",
        pages.columns(
            pages.movie(animation, "image/webp", "The video with its decisions"),
            [
                pages.paragraph(text),
                strip,
                pages.paragraph(legend, soft=True),
                pages.chart(
                    figure, "video", "Expected error through the video; accepted below the dashed line."
                ),
            ],
        ),
        pages.heading("Frames"),
        pages.faces(cards, large=True),
        pages.links("Files:", [("video.mp4", "video"), ("annotated.mp4", "the same with decisions drawn")]),
    )


def _card(name: str, frame: ScoredFrame) -> str:
    face, image, lines = frame.face, frame.image, ["no face found"]
    if face is not None:
        image = face_crop(
            draw_faces(image, [face], labels=False), None, frame.accepted, around=face.landmarks
        )
        lines = [f"expected error {face.expected_error:.1f} %"]
        lines += [face.hint] if face.hint else []
    return pages.face(image, frame.accepted, f"{name}, at {frame.time_s:.1f} s", lines)


def _telling(frames: Sequence[ScoredFrame]) -> ScoredFrame:
    """The frame that shows best what a scene does: the worst rejected face, else the middle."""
    rejected = [frame for frame in frames if frame.face and not frame.accepted]
    return max(rejected, key=lambda frame: frame.expected, default=frames[len(frames) // 2])


def _draw_video(
    frames: Sequence[ScoredFrame], shaded: Sequence[Scene], limit: float
) -> matplotlib.figure.Figure:
    figure = matplotlib.figure.Figure(figsize=(5.2, 2.6))
    axes = figure.subplots()
    figure.subplots_adjust(left=_LEFT, right=_RIGHT, bottom=0.19, top=0.9)
    times = [frame.time_s for frame in frames]
    errors = [frame.expected for frame in frames]
    top = 1.15 * max((error for error in errors if not math.isnan(error)), default=1.0)
    for scene in shaded:
        axes.axvspan(scene.start / FPS, (scene.end + 1) / FPS, color=GREY, alpha=0.15, linewidth=0)
        middle = (scene.start + scene.end + 1) / 2 / FPS
        # above the axes, where no curve runs
        place = axes.get_xaxis_transform()
        axes.text(middle, 1.03, scene.kind, ha="center", fontsize=8, color=GREY, transform=place)
    axes.axhline(limit, color=GREY, linestyle="--", linewidth=1.0)
    axes.plot(times, errors, color=PALETTE[0], linewidth=1.8)
    axes.set(xlim=(0, len(frames) / FPS), ylim=(0, top))
    axes.set_xlabel("seconds")
    axes.set_ylabel("expected error (%)")
    tidy(axes, grid="y")
    return figure


def _meaning(rejector: FaceRejector, model: str) -> str:
    threshold = rejector.selector.threshold_
    return pages.section(
        "What the numbers mean",
        pages.facts(
            [
                (
                    "expected error",
                    "expected mean error of the landmarks, in percent of the distance between the outer eye "
                    "corners",
                ),
                ("landmarks moved", "mean distance from the landmarks of the clean photo, in the same unit"),
                ("uncertainty", "the score that ranks the faces; only its order means something"),
                ("detector score", "how sure the detector is of the face, not how good the landmarks are"),
                ("model", model),
                ("target", target_words(rejector.target)),
                ("accepted", f"uncertainty at most {threshold:.4g}"),
            ]
        ),
        pages.links("All faces with all landmarks:", [("table.csv", "table.csv")]),
    )


def _next() -> str:
    rows = [
        ("facereject score photos -o faces.csv", "a table with one row per face"),
        ("facereject filter photos --max-error 4 --accepted good", "copies the photos to keep"),
        ("facereject filter clip.mp4 --max-error 4 --save good.mp4", "keeps the good frames of a video"),
        ("facereject webcam", "live, from a camera"),
        ("facereject train faces.xml -o mine.safetensors", "a model for your own data and predictor"),
    ]
    return pages.section("On your own images", pages.facts(rows, code=True))
