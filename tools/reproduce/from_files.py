"""Models trained from files for the seven trackers on AFW, beside the shipped model.

Every tracker's landmarks are written to a file and read back with the annotation, as a user would do
(`facereject train --predictions … --annotation …`). Five folds over photos: a model is trained on four of
them, its own calibration included, and evaluated on the fifth. The shipped model scores the same faces.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from facereject import FaceRejector, annotated_faces
from facereject._files import write_whole
from facereject.faces import FaceDataset, FaceSample, LandmarkPredictor
from facereject.faces.training._from_files import file_extractor, learn_from_table
from facereject.faces.training.extract import extract
from facereject.faces.training.fit_score import photo_folds
from facereject.metrics import aurc
from tools.reproduce.landmark_predictors import train
from tools.reproduce.other_predictors import _TRAINING, TRACKERS, _plain
from tools.train.default_model import set_aside

FILE = "from_files.json"
_TITLE = "## Models trained from files"
_ABOUT = """\
`facereject train --predictions tracker.npz --annotation afw` for each tracker: `default` is adapted by a
ridge regression of the log error on the columns its trees see, its score, and the tracker's own confidence,
where it has one. Five folds over photos; the model of a fold, with its calibration, has not seen the photos
it is evaluated on. No tracker is run. `default` itself has seen four fifths of the photos, with landmarks of
dlib; the last two columns are the faces it has not seen, too few to tell a unit. The recipe was compared
with four others on these faces (fewer columns, the errors of single points, the score of `thorough`, the
distance from dlib's landmarks). Model: `default` of version 0.3.0, SHA-256 {digest}. Made by `python -m
tools.reproduce.from_files`.
"""
_UNSEEN = """\
The second run of `default` is one of dlib's published predictor, whose training photos include AFW: it knows
these faces, which flatters both columns above. Here that run is by a dlib predictor trained on HELEN and
LFPW alone (250 trees, 3 random starts; weaker than the published one, and not the one whose runs `default`
was trained on).
"""
_SEVERAL = """\
`facereject train` with three `--predictions`: the tracker and two others. *Disagreement alone* ranks by the
mean distance to the landmarks of these two, which is the trivial alternative. The form of this feature (of
three) and its weight (of four) were chosen on these faces, so the gain may be flattered.
"""
_FOLDS = 5
_RESAMPLES = 1000

# trackers that the landmarks are compared with: the first two that are others
_OTHERS = ("cfss", "openface-ceclm", "3ddfa")


def run(results: Path, data: Path, work: Path, *, workers: int | None = 1) -> None:
    """Compute the numbers of every tracker and write ``raw/from_files.json``."""
    samples = FaceDataset.load(data / "faces" / "300w")
    _, test, group, copies = set_aside(samples)
    aside = {sample.image_path for i, sample in enumerate(test) if i not in copies}
    shipped = FaceRejector.pretrained("default")
    unseen = FaceRejector.pretrained("default", predictor=_without_afw(samples, group, work))
    found: dict[str, Any] = {"digest": _digest()}
    for key, name in TRACKERS.items():
        others = [other for other in _OTHERS if other != key][:2]
        faces = _faces(data, [key, *others])
        photos = [group.get(f"afw/{face.photo}", face.photo) for face in faces]
        found[name] = _scored(faces, photos, shipped, aside, workers)
        found[name]["others"] = [TRACKERS[other] for other in others]
        other = _scored(faces, photos, unseen, aside, workers)
        found[name]["unseen"] = {when: other[when] for when in ("before", "after")}
        print(name, flush=True)
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


def _digest() -> str:
    import hashlib

    import facereject

    file = Path(facereject.__file__).parent / "pretrained" / "default.safetensors"
    return hashlib.sha256(file.read_bytes()).hexdigest()[:8]


def _without_afw(samples: FaceDataset, group: dict[str, str], work: Path) -> LandmarkPredictor:
    """A dlib predictor that has seen no photo of AFW, nor a copy of one."""
    path = work / "dlib_without_afw.dat"
    if not path.exists():
        named = {sample.photo for sample in samples if "afw" in sample.image_path.parts}
        known = named | {group.get(photo, photo) for photo in named}
        rest = [s for s in samples if s.photo not in known and group.get(s.photo, s.photo) not in known]
        work.mkdir(parents=True, exist_ok=True)
        train(rest, _TRAINING, path)
    return LandmarkPredictor(path)


def _faces(data: Path, keys: Sequence[str]) -> Any:
    """The faces of AFW with the landmarks of trackers, through files."""
    with (
        np.load(data / "faces" / "other_predictors" / "afw.npz") as stored,
        tempfile.TemporaryDirectory() as folder,
    ):
        names = np.array([Path(str(name)).name for name in stored["names"]])
        files = [Path(folder, f"{key}.npz") for key in keys]
        for key, file in zip(keys, files, strict=True):
            arrays = {"image": names, "landmarks": stored[f"{key}.landmarks"].astype(np.float64)}
            if f"{key}.likelihood" in stored:
                arrays["confidence"] = stored[f"{key}.likelihood"].astype(np.float64)
            np.savez(file, **arrays)
        return annotated_faces(data / "faces" / "300w" / "afw", predictions=files)


def _scored(
    faces: list[FaceSample], photos: list[str], base: FaceRejector, aside: set[Path], workers: int | None
) -> dict[str, Any]:
    """Losses of a tracker, and scores by the base, by it adapted to the tracker alone, and to several."""
    extractor = file_extractor(base.points, "tracker", base, None, 0, disagreement=True)
    table = extract(faces, extractor, workers=workers)
    names = [photos[i] for i in table.sample]
    fold = photo_folds(names, _FOLDS, 0)
    alone = file_extractor(base.points, "tracker", base, None, 0)
    # the disagreement is the last feature
    one = replace(table, features=table.features[:, :-1])
    before = base.score(table.features[:, :-2])
    found = {"before": (before, np.asarray(base.calibration.expected_error(before)))}
    for when, rows_of, made_by in (("after", one, alone), ("several", table, extractor)):
        uncertainty, expected = np.empty(len(table)), np.empty(len(table))
        for k in range(_FOLDS):
            rows = np.flatnonzero(fold != k)
            part = replace(rows_of.rows(rows), sample=np.arange(len(rows)))
            model = learn_from_table(part, [names[i] for i in rows], made_by, base)
            uncertainty[fold == k] = model.score(rows_of.features[fold == k])
            expected[fold == k] = model.calibration.expected_error(uncertainty[fold == k])
        found[when] = uncertainty, expected
    return {
        "losses": table.losses.tolist(),
        "photo": np.unique(names, return_inverse=True)[1].tolist(),
        "aside": [faces[i].image_path in aside for i in table.sample],
        "disagreement": table.features[:, -1].tolist(),
        **{when: {"uncertainty": u.tolist(), "expected": e.tolist()} for when, (u, e) in found.items()},
    }


def share(losses: np.ndarray, uncertainty: np.ndarray) -> float:
    """Where the AuRC lies between a random order (0) and that of the losses themselves (1)."""
    best = aurc(losses, losses)
    return float((losses.mean() - aurc(losses, uncertainty)) / (losses.mean() - best))


def _summary(found: dict[str, Any], rows: np.ndarray, before: Any, after: Any) -> dict[str, Any]:
    """Share and unit by two scores, and the 95 % interval of the gain over photos."""
    losses, photo = np.array(found["losses"])[rows], np.array(found["photo"])[rows]
    both = [np.array(each["uncertainty"])[rows] for each in (before, after)]
    units = [float(np.array(each["expected"])[rows].mean() / losses.mean()) for each in (before, after)]
    rng, gains = np.random.default_rng(0), []
    for _ in range(_RESAMPLES):
        chosen = rng.choice(np.unique(photo), len(np.unique(photo)))
        index = np.concatenate([np.flatnonzero(photo == p) for p in chosen])
        gains.append(share(losses[index], both[1][index]) - share(losses[index], both[0][index]))
    shares = [share(losses, each) for each in both]
    return {"shares": shares, "units": units, "gain": np.percentile(gains, [2.5, 97.5]).tolist()}


def _gain(summary: dict[str, Any]) -> str:
    before, after = summary["shares"]
    low, high = (100 * end for end in summary["gain"])
    return f"{before:.1%} | {after:.1%} | {100 * (after - before):+.1f} ({low:+.1f} to {high:+.1f})"


def page(results: Path) -> str:
    """The part of results/predictors.md about models trained from files."""
    found = json.loads((results / "raw" / FILE).read_text())
    about = _ABOUT.format(digest=found.pop("digest"))
    main, unseen, several, means = [], [], [], []
    for name, each in found.items():
        every, aside = np.ones(len(each["losses"]), dtype=bool), np.array(each["aside"])
        whole = _summary(each, every, each["before"], each["after"])
        kept = _summary(each, aside, each["before"], each["after"])
        other = _summary(each, every, each["unseen"]["before"], each["unseen"]["after"])
        more = _summary(each, every, each["after"], each["several"])
        trivial = share(np.array(each["losses"]), np.array(each["disagreement"]))
        (ub, ua), (sb, sa), (sub, sua) = whole["units"], kept["shares"], kept["units"]
        main.append(
            f"| {name} | {every.sum()} | {_gain(whole)} | {ub:.2f} | {ua:.2f} "
            f"| {sb:.1%} → {sa:.1%} | {sub:.2f} → {sua:.2f} |"
        )
        unseen.append(f"| {name} | {_gain(other)} | {other['units'][1]:.2f} |")
        others, unit = ", ".join(each["others"]), more["units"][1]
        several.append(f"| {name} | {others} | {trivial:.1%} | {_gain(more)} | {unit:.2f} |")
        means.append([*whole["shares"], ub, ua, sb, sa, sub, sua, *other["shares"], trivial, *more["shares"]])
    b, a, ub, ua, sb, sa, sub, sua, ob, oa, trivial, one, three = np.mean(means, axis=0)
    main.append(
        f"| mean | | **{b:.1%}** | **{a:.1%}** | **{100 * (a - b):+.1f}** | {ub:.2f} | {ua:.2f} "
        f"| {sb:.1%} → {sa:.1%} | {sub:.2f} → {sua:.2f} |"
    )
    unseen.append(f"| mean | **{ob:.1%}** | **{oa:.1%}** | **{100 * (oa - ob):+.1f}** | |")
    several.append(
        f"| mean | | {trivial:.1%} | **{one:.1%}** | **{three:.1%}** | **{100 * (three - one):+.1f}** | |"
    )
    lines = [
        _TITLE,
        "",
        about,
        "| tracker | faces | share before | share after | gain (95 % interval) | expected over true before "
        "| after | set aside: share before → after | expected over true |",
        "|---|---|---|---|---|---|---|---|---|",
        *main,
        "",
        "### With a dlib that has not seen these faces",
        "",
        _UNSEEN,
        "| tracker | share before | share after | gain (95 % interval) | expected over true after |",
        "|---|---|---|---|---|",
        *unseen,
        "",
        "### With two other trackers",
        "",
        _SEVERAL,
        "| tracker | others | disagreement alone | tracker alone | with the others | gain (95 % interval) "
        "| expected over true |",
        "|---|---|---|---|---|---|---|",
        *several,
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    import argparse

    root = Path(__file__).parents[2]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, help="folder of faces/300w, faces/other_predictors"
    )
    parser.add_argument("--results", type=Path, default=root / "results")
    parser.add_argument("--work", type=Path, default=root / "cache", help="intermediate files")
    given = parser.parse_args()
    run(given.results, given.data, given.work)
    write(given.results)
