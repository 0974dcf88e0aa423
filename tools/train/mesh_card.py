"""The card of the models of the free stack: results on photographs set aside, and a chain of licences."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from facereject.faces.evaluation.evidence import gap_interval
from facereject.faces.evaluation.results import gap_closed
from facereject.faces.models.licences import licence_chain
from facereject.faces.training.extract import FaceTable
from facereject.metrics import aurc

_HEAD = """\
# The models of the free stack

`mesh.safetensors` and `mesh-free.safetensors` predict how wrong MediaPipe's face mesh is on a face that YuNet
found. `FaceRejector.pretrained("mesh")` and `pretrained("mesh-free")` load them, once
`facereject models get mesh` has obtained the weights of both networks. 68 points come out.

This file is written by `tools/train/mesh_models.py`; see there for what is done.

## Licences

| model | part | licence | commercial use |
|---|---|---|---|
"""

_RESULTS = """
## Results on photographs set aside

{photographs} photographs of 300-W that had no part in either model, each as it is and in {versions} degraded
versions by `random_degradation`, of which the last only moves the box. Errors in percent of the distance of
the outer eye corners. *Gap closed*: from ranking by YuNet's own score (0) to ranking by the true error (1),
with 95 % bootstrap intervals over photographs. *Right unit*: mean expected error over mean error.

`mesh-free` has learned from no photograph of 300-W, so all of them are new to it: *of all* is its result, the
rows above are those of the photographs on which it can be compared with `mesh`, and of the *others*, which
`mesh` was trained on.

| model | faces | missed | mean error | AuRC, YuNet | AuRC, score | AuRC, oracle | gap closed | right unit |
|---|---|---|---|---|---|---|---|---|
{rows}
## With the shipped target

`mesh` keeps the mean error of the accepted faces at that of clean
photographs; `mesh-free` accepts every face whose expected error is below its limit, twice the mean error of
the studio photographs that it learned from. A mean as low as theirs would reject nearly every other photo.

| model | target | faces | accepted | mean error of accepted | of rejected |
|---|---|---|---|---|---|
"""

_TAIL = """
## Limits

- `mesh-free` has learned from studio photographs of 102 people, neutral and smiling, from the front. Its
  truth is what the predictor itself says of the photograph as it is: what is wrong there already, such as a
  turned head, it cannot learn. Its expected errors come from points placed by hand on the same people.
- Score, expected errors and limit of `mesh-free` are computed from the London Set alone, but its figures on
  300-W are not blind. Two changes were dropped after a look at 300-W: learning from turned views of the
  studio photographs, and learning nothing from them as they are (`results/studies.md`). On what the second
  run, YuNet's points and twice the studio error as the limit were chosen is not recorded; results on 300-W
  were at hand then.
- Both models compare the faces of a run with their calibration faces. Those of `mesh-free` are studio
  photographs, so ordinary photographs are called unlike them, those of 300-W among others; its expected
  errors there are those of the table above.
- `mesh` also estimates how much larger errors are on faces that it calls unlike, learned by
  `python -m tools.train.unlike` as for `default`; `mesh-free` does not, as that takes photographs of 300-W.
- The fixed correspondences place the 68 points where the mesh has a vertex; brows and jaw differ from the
  mark-up of 300-W by more than the others.
- Weights of others: YuNet was trained on WIDER FACE, the mesh on photographs of Google's. Their files are
  published under the licences above; terms of the photographs themselves are not known here.
"""


def _training(name, info):
    """How many examples a model was trained on, as a line of a list."""
    count, versions, groups = info["faces"], info["degradations"], info["photographs"]
    return (
        f"- `{name}`: {count:,} faces, each as it is and in {versions} degraded versions. They are in "
        f"{groups:,} groups, of one person or of near copies of one photograph; a group is never cut.\n"
    )


class Result(NamedTuple):
    """Faces that a model has not seen.

    Attributes
    ----------
    model : str
    which : str
        Which photographs, unless they are those set aside: added to "clean" and "degraded".
    table : FaceTable
    photo : ndarray of str
        The photograph of every sample.
    """

    model: str
    which: str
    table: FaceTable
    photo: np.ndarray


def write_mesh_card(path, rejectors, results, degradations):
    """Write the card; ``degradations`` is the number of degraded versions of every photograph."""
    text = _HEAD
    for name, rejector in rejectors.items():
        for part in licence_chain(rejector):
            allowed = "yes" if part.commercial else "**no**"
            text += f"| {name} | {part.part} | {part.licence} | {allowed} |\n"
    text += "\n## Training\n\n" + "".join(
        _training(name, rejector.info) for name, rejector in rejectors.items()
    )
    ranked, decided = "", ""
    for name, which, table, photo in results:
        rejector = rejectors[name]
        for k, title in enumerate(("clean", "degraded")):
            rows = table.clean == (k == 0)
            missed = table.missed[k] / (len(photo) * (1, degradations)[k])
            ranked += f"| {name} | {title}{which}, {rows.sum():,} | {missed:.1%} | "
            ranked += _row(table, rows, rejector, photo) + "\n"
            target = _target(rejector)
            decided += f"| {name} | {target} | {title}{which} | {_decisions(table, rows, rejector)} |\n"
    set_aside = min(len(result.photo) for result in results)
    text += _RESULTS.format(photographs=set_aside, versions=degradations, rows=ranked)
    text += decided
    path.write_text(text + _TAIL, encoding="utf-8")
    print(text[text.index("## Results") :])


def _target(rejector):
    kind = {"max_error": "mean error", "cost": "expected error"}[rejector.target.kind]
    return f"{kind} {rejector.target.value:.1f} %"


def _decisions(table, rows, rejector):
    losses, accepted = table.losses[rows], rejector.decide(rejector.score(table.features[rows]))
    return f"{accepted.mean():.0%} | {losses[accepted].mean():.2f} | {losses[~accepted].mean():.2f}"


def _row(table, rows, rejector, photo):
    losses, scores = table.losses[rows], table.detector_scores[rows]
    uncertainty = rejector.score(table.features[rows])
    areas = [aurc(losses, each) for each in (-scores, uncertainty, losses)]
    share = gap_closed(losses, scores, uncertainty)
    low, high = gap_interval(losses, scores, uncertainty, photo[table.sample[rows]])
    unit = rejector.calibration.expected_error(uncertainty).mean() / losses.mean()
    shown = " | ".join(f"{area:.2f}" for area in [losses.mean(), *areas])
    return f"{shown} | **{share:.0%}** ({low:.0%}–{high:.0%}) | {unit:.2f} |"
