"""facereject demo: the astronaut photo, clean and spoiled, with a decision on each version."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, NoReturn

import typer

if TYPE_CHECKING:
    from facereject.faces import Face, FaceRejector
    from facereject.faces.images import ImageArray

# imports of dlib, scikit-image and matplotlib wait for the functions: `facereject --help` needs none of them

# kind, severity (0 just noticeable, 1 hopeless), seed
_SPOILED = [
    ("blur", 0.3, 0),
    ("noise", 0.5, 0),
    ("low_resolution", 0.75, 1),
    ("cut", 0.75, 1),
    ("shadow", 0.75, 0),
    ("rotation", 0.9, 1),
    ("haze", 0.9, 2),
]


class _Version(NamedTuple):
    name: str
    image: ImageArray
    center: tuple[float, float]
    face: Face | None
    moved: float


def demo(
    output: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("demo-output"),
    model: Annotated[str, typer.Option(help="Which pretrained model: default or thorough.")] = "default",
) -> None:
    """Judge the landmarks of one photograph and of spoiled versions of it."""
    from rich.console import Console
    from rich.table import Table

    from facereject.faces import FaceRejector, LandmarkModelError

    try:
        rejector = FaceRejector.pretrained(model)
    except LandmarkModelError as error:
        _stop(str(error))
    except ValueError as error:
        _stop(f"--model: {error}")
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _stop(f"--output {output}: not a folder that can be written ({error.strerror})")
    versions = _versions(rejector)
    goal = f"{rejector.target.kind} {rejector.target.value:.3g}"
    table = Table(title=f"scikit-image's astronaut, model {model}, target {goal}")
    table.add_column("version")
    for column in ("detector score", "uncertainty", "expected error", "moved"):
        table.add_column(column, justify="right")
    table.add_column("decision")
    for version in versions:
        face = version.face
        if face is None:
            table.add_row(version.name, "-", "-", "-", "-", "[red]rejected[/red] (no face found)")
            continue
        decision = "[green]accepted[/green]" if face.accepted else "[red]rejected[/red]"
        scores = (f"{face.detector_score:.2f}", f"{face.uncertainty:.2f}")
        table.add_row(version.name, *scores, f"{face.expected_nme:.1f} %", f"{version.moved:.1f} %", decision)
    console = Console()
    console.print(table)
    console.print(
        "Percent of the distance of the outer eye corners. Moved: off the landmarks of the clean photo."
    )
    picture = output / "demo.png"
    try:
        _draw(versions, picture)
    except OSError as error:
        _stop(f"{picture}: cannot be written ({error.strerror})")
    console.print(f"Picture: {picture}")


def _stop(message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(2)


def _versions(rejector: FaceRejector) -> list[_Version]:
    import numpy as np
    import skimage.data

    from facereject.faces import FaceDetector, LandmarkPredictor, degrade
    from facereject.losses import landmark_nme

    photo = skimage.data.astronaut()
    (found,) = FaceDetector().detect(photo)
    landmarks = LandmarkPredictor()(photo, found.box)
    pictures = [("clean", photo, landmarks)]
    for kind, severity, seed in _SPOILED:
        changed, moved, _ = degrade(photo, landmarks, kind, severity, random_state=seed)
        pictures.append((f"{kind.replace('_', ' ')} {severity:g}", changed, moved))
    versions = []
    for name, image, points in pictures:
        x, y = points.mean(axis=0)
        # a spoiled photograph can make the detector see a second face elsewhere
        near = [
            f for f in rejector(image) if np.hypot(*np.subtract(f.box.center, (x, y))) < found.box.width / 2
        ]
        error = float(landmark_nme(points, near[0].landmarks)) if near else float("nan")
        versions.append(_Version(name, image, (float(x), float(y)), near[0] if near else None, error))
    return versions


def _draw(versions: list[_Version], path: Path) -> None:
    import matplotlib.figure

    reach = 75
    columns = (len(versions) + 1) // 2
    figure = matplotlib.figure.Figure(figsize=(2.1 * columns, 5.2), layout="constrained")
    for axes, version in zip(figure.subplots(2, columns).flat, versions, strict=False):
        face, (x, y) = version.face, version.center
        accepted = face is not None and face.accepted
        color = "#1a9850" if accepted else "#d73027"
        axes.imshow(version.image)
        axes.set(xlim=(x - reach, x + reach), ylim=(y + reach, y - reach), xticks=[], yticks=[])
        verdict = "no face found"
        if face is not None:
            axes.scatter(*face.landmarks.T, s=4, color=color)
            verdict = f"expected error {face.expected_nme:.1f} %"
        axes.set_title(
            f"{version.name}\n{'accepted' if accepted else 'rejected'}: {verdict}", fontsize=8, color=color
        )
        for spine in axes.spines.values():
            spine.set(color=color, linewidth=3)
    figure.savefig(path, dpi=110)
