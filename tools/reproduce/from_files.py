"""Models trained from files for the seven trackers on AFW, beside the shipped model.

Every tracker's landmarks are written to a file and read back with the annotation, as a user would do
(`facereject train --predictions … --annotation …`). Five folds over photos: a model is trained on four of
them, its own calibration included, and judged on the fifth. The shipped model judges the same faces.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from facereject import FaceRejector, annotated_faces
from facereject._files import write_whole
from facereject.faces import FaceSample
from facereject.faces.training._from_files import adapt_to_table, file_extractor
from facereject.faces.training.cross_validation import photo_folds
from facereject.faces.training.extract import extract
from facereject.metrics import aurc
from tools.reproduce.other_predictors import TRACKERS, _plain
from tools.train.default_model import set_aside

FILE = "from_files.json"
_TITLE = "## Models trained from files"
_ABOUT = """\
`facereject train --predictions tracker.npz --annotation afw` for each tracker: `default` is adapted by a
ridge regression of the log error on the columns its trees see, its score, and the tracker's own confidence,
where it has one. Five folds over photos; the model of a fold, with its calibration, has not seen the photos
it is judged on. No tracker is run; the second run of `default` is one of dlib, which has seen AFW, so that
part of the gain may be dlib's memory of these photos (a `default` without it gained 3.7 points). `default`
itself has seen four fifths of the photos, with landmarks of dlib; the last two columns are the faces it has
not seen, too few to tell a unit. The recipe was compared with four others on these faces (fewer columns,
the errors of single points, the score of `thorough`, the distance from dlib's landmarks; dlib has seen
AFW). Made by `python -m tools.reproduce.from_files`.
"""
_FOLDS = 5
_RESAMPLES = 1000
BASES = ("default",)


def run(results: Path, data: Path, *, workers: int | None = 1) -> None:
    """Compute the numbers of every tracker and write ``raw/predictors_from_files/``."""
    from facereject.faces import FaceDataset

    samples = FaceDataset.load(data / "faces" / "300w")
    _, test, group, copies = set_aside(samples)
    aside = {sample.image_path for i, sample in enumerate(test) if i not in copies}
    found = {}
    for key, name in TRACKERS.items():
        faces = _faces(data, key)
        photos = [group.get(f"afw/{face.photo}", face.photo) for face in faces]
        found[name] = {base: _judged(faces, photos, base, aside, workers) for base in BASES}
        print(name, {base: _summary(found[name][base])["all"] for base in BASES}, flush=True)
    path = results / "raw" / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(_plain(found)) + "\n")


def write(results: Path) -> None:
    """Put this part into results/predictors.md, and leave the others as they are."""
    path = results / "predictors.md"
    text = path.read_text(encoding="utf-8")
    before, _, rest = text.partition(f"\n{_TITLE}\n")
    if rest:
        rest = rest[rest.index("\n## ") :]
    else:
        end = text.index("\n## Beside published figures")
        before, rest = text[:end], text[end:]
    path.write_text(f"{before}\n{page(results)}{rest}", encoding="utf-8")


def _faces(data: Path, key: str) -> Any:
    """The faces of AFW with the landmarks of a tracker, through a file."""
    with np.load(data / "faces" / "other_predictors" / "afw.npz") as stored:
        names = np.array([Path(str(name)).name for name in stored["names"]])
        arrays = {"image": names, "landmarks": stored[f"{key}.landmarks"].astype(np.float64)}
        if f"{key}.likelihood" in stored:
            arrays["confidence"] = stored[f"{key}.likelihood"].astype(np.float64)
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder, "tracker.npz"), **arrays)
        return annotated_faces(data / "faces" / "300w" / "afw", predictions=Path(folder, "tracker.npz"))


def _judged(
    faces: list[FaceSample], photos: list[str], base_name: str, aside: set[Path], workers: int | None
) -> dict[str, Any]:
    base = FaceRejector.pretrained(base_name)
    extractor = file_extractor(base.points, "tracker", base, None, 0)
    table = extract(faces, extractor, workers=workers)
    names = [photos[i] for i in table.sample]
    fold = photo_folds(names, _FOLDS, 0)
    uncertainty, expected = np.empty(len(table)), np.empty(len(table))
    for k in range(_FOLDS):
        rows = np.flatnonzero(fold != k)
        part = replace(table.rows(rows), sample=np.arange(len(rows)))
        model = adapt_to_table(part, [names[i] for i in rows], extractor, base)
        uncertainty[fold == k] = model.score(table.features[fold == k])
        expected[fold == k] = model.calibration.expected_error(uncertainty[fold == k])
    before = base.score(table.features[:, :-1])
    return {
        "losses": table.losses.tolist(),
        "photo": np.unique(names, return_inverse=True)[1].tolist(),
        "aside": [faces[i].image_path in aside for i in table.sample],
        "fold": fold.tolist(),
        "before": {
            "uncertainty": before.tolist(),
            "expected": np.asarray(base.calibration.expected_error(before)).tolist(),
        },
        "after": {"uncertainty": uncertainty.tolist(), "expected": expected.tolist()},
    }


def share(losses: np.ndarray, uncertainty: np.ndarray) -> float:
    """Where the AuRC lies between a random order (0) and that of the losses themselves (1)."""
    best = aurc(losses, losses)
    return float((losses.mean() - aurc(losses, uncertainty)) / (losses.mean() - best))


def _summary(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Share and unit before and after, on all faces and on those that the shipped model has not seen."""
    losses, aside = np.array(found["losses"]), np.array(found["aside"])
    rng = np.random.default_rng(0)
    result = {}
    for name, rows in (("all", np.ones(len(losses), dtype=bool)), ("set aside", aside)):
        values = {}
        for when in ("before", "after"):
            ranking, expected = (np.array(found[when][key])[rows] for key in ("uncertainty", "expected"))
            values[when] = (share(losses[rows], ranking), float(expected.mean() / losses[rows].mean()))
        photo = np.array(found["photo"])[rows]
        gains = []
        for _ in range(_RESAMPLES if name == "all" else 0):
            chosen = rng.choice(np.unique(photo), len(np.unique(photo)))
            index = np.concatenate([np.flatnonzero(photo == p) for p in chosen])
            drawn = losses[rows][index]
            both = [share(drawn, np.array(found[w]["uncertainty"])[rows][index]) for w in ("before", "after")]
            gains.append(both[1] - both[0])
        interval = np.percentile(gains, [2.5, 97.5]).tolist() if gains else None
        result[name] = {"faces": int(rows.sum()), **values, "gain": interval}
    return result


def page(results: Path) -> str:
    """The part of results/predictors.md about models trained from files."""
    found = json.loads((results / "raw" / FILE).read_text())
    lines = [
        _TITLE,
        "",
        *_ABOUT.splitlines(),
        "",
        "| tracker | faces | share before | share after | gain (95 % interval) | expected over true before "
        "| after | set aside: share before → after | expected over true |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    means = []
    for name, bases in found.items():
        summary = _summary(bases["default"])
        every, aside = summary["all"], summary["set aside"]
        (b, ub), (a, ua) = every["before"], every["after"]
        (sb, sub), (sa, sua) = aside["before"], aside["after"]
        means.append((b, a, ub, ua, sb, sa, sub, sua))
        low, high = every["gain"]
        lines.append(
            f"| {name} | {every['faces']} | {b:.1%} | {a:.1%} | {100 * (a - b):+.1f} "
            f"({100 * low:+.1f} to {100 * high:+.1f}) | {ub:.2f} | {ua:.2f} "
            f"| {sb:.1%} → {sa:.1%} | {sub:.2f} → {sua:.2f} |"
        )
    b, a, ub, ua, sb, sa, sub, sua = np.mean(means, axis=0)
    lines.append(
        f"| mean | | **{b:.1%}** | **{a:.1%}** | **{100 * (a - b):+.1f}** | {ub:.2f} | {ua:.2f} "
        f"| {sb:.1%} → {sa:.1%} | {sub:.2f} → {sua:.2f} |"
    )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    import argparse

    root = Path(__file__).parents[2]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, help="folder of faces/300w, faces/other_predictors"
    )
    parser.add_argument("--results", type=Path, default=root / "results")
    given = parser.parse_args()
    run(given.results, given.data)
    write(given.results)
