"""The demonstration: images and a video are written and scored, and a page shows the results."""

from __future__ import annotations

import io
import itertools
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import matplotlib.figure
import numpy as np
import PIL.Image

from facereject import __version__
from facereject._files import write_whole
from facereject.demo.material import (
    FPS,
    SCENES,
    SIZE,
    Picture,
    clean_picture,
    covered_mouth,
    degraded_pictures,
    video_frames,
)
from facereject.faces import Face, FaceRejector
from facereject.faces.face import FaceFrame
from facereject.faces.images import ImageArray
from facereject.faces.models.card import LICENCE, target_words
from facereject.losses import landmark_nme
from facereject.outputs._drawing.crops import face_crop
from facereject.outputs._drawing.faces import draw_faces
from facereject.outputs._video.writer import VideoWriter
from facereject.outputs.base import Output
from facereject.outputs.images import png
from facereject.outputs.saved_video import SavedVideo
from facereject.outputs.table import Table
from facereject.pipeline.running import Running
from facereject.pipeline.score import score_files
from facereject.plotting._style import GREY, PALETTE, tidy
from facereject.reports import pages
from facereject.sources.video import open_video


class Demo(NamedTuple):
    """The files that were made, and the decisions.

    ``seconds`` is the length of the video; ``frames`` and ``accepted`` count all and the accepted frames.
    """

    page: Path
    picture: Path
    table: Path
    video: Path
    scored: list[ScoredImage]
    frames: int
    accepted: int
    seconds: float


def make_demo(folder: str | os.PathLike[str], rejector: FaceRejector, *, model: str = "default") -> Demo:
    """Score one photo, degraded versions of it and a video made from it; write everything to a folder.

    Parameters
    ----------
    folder : path
        Made if missing; files of an earlier demonstration are replaced.
    rejector : FaceRejector
    model : str
        Its name, for the page.
    """
    folder = Path(folder)
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    clean = clean_picture()
    pictures = degraded_pictures(clean)
    paths = [folder / "pictures" / f"{picture.name.replace(' ', '-')}.png" for picture in pictures]
    for path, picture in zip(paths, pictures, strict=True):
        write_whole(path, png(picture.image))
    video = folder / "video.mp4"
    with VideoWriter(video, FPS, SIZE) as writer:
        for frame in video_frames(clean):
            writer.write(frame)

    table, annotated = folder / "table.csv", folder / "annotated.mp4"
    found = _Collected()
    score_files(
        [*paths, video],
        [Table(table), SavedVideo(str(annotated), annotate=True), found],
        rejector=rejector,
        running=Running(overwrite=True),
    )
    scored = [
        _scored(picture, found.frames[str(path)][0]) for picture, path in zip(pictures, paths, strict=True)
    ]
    image = folder / "demo.png"
    write_whole(image, overview(scored))
    frames = _frames(video, annotated, found.frames[str(video)])
    page = folder / "index.html"
    regions = _by_region(covered_mouth(clean), rejector)
    write_whole(page, demo_page(scored, regions, frames, _animation(frames), rejector, model))
    accepted = sum(frame.accepted for frame in frames)
    return Demo(page, image, table, video, scored, len(frames), accepted, len(frames) / FPS)


def _by_region(picture: Picture, rejector: FaceRejector) -> list[ScoredImage]:
    """A face with a covered mouth, scored by eyes and by mouth; empty if the model has no regions."""
    if rejector.calibration.regions is None:
        return []
    return [
        ScoredImage(picture._replace(name=name), _nearest(rejector.for_region(name)(picture.image), picture))
        for name in ("eyes", "mouth")
    ]


def _nearest(faces: Sequence[Face], picture: Picture) -> Face | None:
    """The face where the astronaut's is; in a degraded image the detector may find others elsewhere."""
    center, reach = picture.landmarks.mean(axis=0), np.ptp(picture.landmarks[:, 0]) / 2
    near = [face for face in faces if math.dist(face.box.center, center) < reach]
    return near[0] if near else None


class _Collected(Output):
    """The frames of every input, by its name."""

    def __init__(self) -> None:
        self.frames: dict[str, list[FaceFrame]] = {}

    def write(self, frame: FaceFrame) -> None:
        self.frames.setdefault(frame.source, []).append(frame)


def _scored(picture: Picture, frame: FaceFrame) -> ScoredImage:
    face = _nearest(frame.faces, picture)
    if face is None or not np.isfinite(face.landmarks).all():
        return ScoredImage(picture, face)
    return ScoredImage(picture, face, float(landmark_nme(picture.landmarks, face.landmarks)))


def _frames(video: Path, annotated: Path, scored: Sequence[FaceFrame]) -> list[ScoredFrame]:
    """The frames of the video, with their decisions."""
    frames = []
    with open_video(video) as recorded, open_video(annotated) as drawn:
        for plain, shown, frame in zip(recorded, drawn, scored, strict=True):
            known = [face for face in frame.faces if math.isfinite(face.expected_error)]
            worst = max(known, key=lambda face: face.expected_error, default=None)
            frames.append(ScoredFrame(plain.image, shown.image, plain.time_s, frame.accepted(), worst))
    return frames


def _animation(frames: Sequence[ScoredFrame]) -> bytes:
    """The annotated video as an animated WebP: browsers show it where they do not play the .mp4."""
    first, *others = (PIL.Image.fromarray(np.ascontiguousarray(frame.annotated)) for frame in frames)
    stream = io.BytesIO()
    first.save(
        stream,
        "WEBP",
        save_all=True,
        append_images=others,
        duration=round(1000 / FPS),
        loop=0,
        quality=60,
        # the fastest: half a second less work for a tenth more bytes
        method=0,
    )
    return stream.getvalue()


# margins of the chart of the video, in shares of its width; the strip above it has the same
_LEFT, _RIGHT = 0.11, 0.97


class ScoredImage(NamedTuple):
    """An image, its face (None if none was found), and how far the landmarks moved, in percent."""

    picture: Picture
    face: Face | None
    moved: float = math.nan

    @property
    def accepted(self) -> bool:
        """Whether its landmarks can be trusted."""
        return self.face is not None and self.face.accepted


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
    regions: Sequence[ScoredImage],
    frames: Sequence[ScoredFrame],
    animation: bytes,
    rejector: FaceRejector,
    model: str,
) -> str:
    """The page as HTML; ``animation`` is the annotated video as WebP."""
    lead = (
        "scikit-image's photo of an astronaut, clean and degraded on purpose. dlib places 68 landmarks on "
        "each version; facereject predicts how wrong they are, and which to trust."
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


def overview(scored: Sequence[ScoredImage]) -> bytes:
    """All versions in two rows, as PNG: landmarks and frame green where accepted, red where rejected."""
    reach, columns = 75, (len(scored) + 1) // 2
    figure = matplotlib.figure.Figure(figsize=(2.1 * columns, 5.2), layout="constrained")
    for axes, version in zip(figure.subplots(2, columns).flat, scored, strict=False):
        face, (x, y) = version.face, version.picture.landmarks.mean(axis=0)
        decision, color = ("accepted", "#1a9850") if version.accepted else ("rejected", "#d73027")
        axes.imshow(version.picture.image)
        axes.set(xlim=(x - reach, x + reach), ylim=(y + reach, y - reach), xticks=[], yticks=[])
        found = "no face found"
        if face is not None and np.isfinite(face.landmarks).all():
            axes.scatter(*face.landmarks.T, s=4, color=color)
            found = f"expected error {face.expected_error:.1f} %"
        axes.set_title(f"{version.picture.name}\n{decision}: {found}", fontsize=8, color=color)
        for spine in axes.spines.values():
            spine.set(color=color, linewidth=3)
    stream = io.BytesIO()
    figure.savefig(stream, dpi=110)
    return stream.getvalue()


def spans(frames: Sequence[ScoredFrame]) -> list[tuple[int, str]]:
    """Runs of equal decisions: the number of frames, and "good", "bad" or "none" (no face found)."""
    kinds = ("good" if frame.accepted else "bad" if frame.face else "none" for frame in frames)
    return [(len(list(run)), kind) for kind, run in itertools.groupby(kinds)]


def _pictures(scored: Sequence[ScoredImage]) -> str:
    cards = []
    for picture, face, moved in scored:
        more = []
        if face is not None:
            more = [f"landmarks moved {moved:.1f} %", f"detector score {face.detector_score:.2f}"]
        cards.append(_card(picture.name, picture.image, face, picture, more, plain=True))
    text = (
        "Landmarks of accepted faces are green, those of rejected faces red. The number after the name says "
        "how strongly the photo was degraded: 0 is barely visible, 1 is hopeless."
    )
    return pages.section("Images", pages.paragraph(text), pages.faces(cards, large=True))


def _regions(regions: Sequence[ScoredImage]) -> str:
    """A face with a covered mouth, scored by its eyes and by its mouth."""
    cards = [_card(picture.name, picture.image, face, picture) for picture, face, _ in regions]
    text = (
        "A face can be good enough for one purpose and not for another. Here the same photo is scored by the "
        "eyes alone and by the mouth alone (`--region eyes`, `--region mouth`). A landmark is larger and "
        "redder the larger its expected error; rings mark landmarks that are probably covered."
    )
    return pages.section("Regions", pages.paragraph(text), pages.faces(cards, large=True))


def _card(
    name: str,
    image: ImageArray,
    face: Face | None,
    around: Picture | None = None,
    more: Sequence[str] = (),
    *,
    plain: bool = False,
) -> str:
    """A crop with decision, expected error and hint; ``plain`` draws landmarks in one colour."""
    if face is None:
        crop = image if around is None else face_crop(image, None, False, around=around.landmarks)
        return pages.face(crop, False, name, ["no face found"])
    lines = [f"expected error {face.expected_error:.1f} %", *more, *([face.hint] if face.hint else [])]
    center = face.landmarks if around is None else around.landmarks
    drawn = image if plain else draw_faces(image, [face], labels=False)
    crop = face_crop(drawn, face.landmarks if plain else None, face.accepted, around=center)
    return pages.face(crop, face.accepted, name, lines)


def _video(frames: Sequence[ScoredFrame], animation: bytes, rejector: FaceRejector) -> str:
    accepted = sum(frame.accepted for frame in frames)
    text = (
        f"{len(frames)} frames, {len(frames) / FPS:.1f} seconds; {accepted} frames are accepted. The camera "
        "moves, while the image is blurred, hazy, rotated and covered in turn."
    )
    limit = float(rejector.calibration.expected_error(rejector.selector.threshold_))
    chart = pages.chart(
        _draw_video(frames, limit), "video", "Expected error; frames are accepted below the dashed line."
    )
    strip = pages.strip(spans(frames), left=_LEFT, right=1 - _RIGHT)
    legend = pages.paragraph("Green: accepted. Red: rejected. Grey: no face found.", soft=True)
    cards = []
    for scene in SCENES:
        shown = _most_uncertain(frames[scene.start : scene.end + 1])
        cards.append(_card(f"{scene.kind}, at {shown.time_s:.1f} s", shown.image, shown.face))
    return pages.section(
        "Video",
        pages.columns(
            pages.movie(animation, "image/webp", "The video with its decisions"),
            [pages.paragraph(text), strip, legend, chart],
        ),
        pages.heading("Frames"),
        pages.faces(cards, large=True),
        pages.links("Files:", [("video.mp4", "video"), ("annotated.mp4", "the same with decisions drawn")]),
    )


def _most_uncertain(frames: Sequence[ScoredFrame]) -> ScoredFrame:
    """The rejected frame with the largest expected error; if there is none, the middle one."""
    rejected = [frame for frame in frames if frame.face and not frame.accepted]
    return max(rejected, key=lambda frame: frame.expected, default=frames[len(frames) // 2])


def _draw_video(frames: Sequence[ScoredFrame], limit: float) -> matplotlib.figure.Figure:
    figure = matplotlib.figure.Figure(figsize=(5.2, 2.6))
    axes = figure.subplots()
    figure.subplots_adjust(left=_LEFT, right=_RIGHT, bottom=0.19, top=0.9)
    errors = [frame.expected for frame in frames]
    top = 1.15 * max((error for error in errors if not math.isnan(error)), default=1.0)
    # names of scenes are above the axes, clear of the curve
    above = axes.get_xaxis_transform()
    for scene in SCENES:
        start, end = scene.start / FPS, (scene.end + 1) / FPS
        axes.axvspan(start, end, color=GREY, alpha=0.15, linewidth=0)
        axes.text((start + end) / 2, 1.03, scene.kind, ha="center", fontsize=8, color=GREY, transform=above)
    axes.axhline(limit, color=GREY, linestyle="--", linewidth=1.0)
    axes.plot([frame.time_s for frame in frames], errors, color=PALETTE[0], linewidth=1.8)
    axes.set(xlim=(0, len(frames) / FPS), ylim=(0, top), xlabel="seconds", ylabel="expected error (%)")
    tidy(axes, grid="y")
    return figure


def _meaning(rejector: FaceRejector, model: str) -> str:
    meanings = [
        (
            "expected error",
            "expected mean error of the landmarks, in percent of the distance between the outer eye corners",
        ),
        ("landmarks moved", "mean distance from the landmarks of the clean photo, in the same unit"),
        ("detector score", "how sure the detector is of the face, not how good the landmarks are"),
        ("uncertainty", "in the video: the score that ranks the faces; only its order means something"),
        ("model", model),
        ("target", target_words(rejector.target)),
        ("accepted", f"uncertainty at most {rejector.selector.threshold_:.4g}"),
    ]
    table = pages.links("All faces with all landmarks:", [("table.csv", "table.csv")])
    return pages.section("What the numbers mean", pages.facts(meanings), table)


def _next() -> str:
    rows = [
        ("facereject score photos -o faces.csv", "a table with one row per face"),
        ("facereject filter photos --max-error 4 --accepted good", "copies the photos to keep"),
        ("facereject filter clip.mp4 --max-error 4 --save good.mp4", "keeps the good frames of a video"),
        ("facereject review photos", "shows the faces in the browser"),
        ("facereject webcam", "live, from a camera"),
    ]
    return pages.section("On your own images", pages.facts(rows, code=True))
