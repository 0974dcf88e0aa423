"""Turn an XML file of dlib's imglab into the project's table of faces.

    python data_scripts/faces_dlib.py --from labels_ibug_300W_train.xml --out DIR

Writes DIR/<name of the XML file>.csv with the columns image (path relative to the table), photo and x0, y0,
..., x67, y67 (pixels, counted from 0), which ``FaceDataset.load`` reads. Photographs stay where they are.

dlib's copy of 300-W, ibug_300W_large_face_landmark_dataset.tar.gz (1.7 GB), is for research only: fetch it by
hand from https://dlib.net/files/data/ after reading the licence of 300-W, and unpack it.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from facereject.faces.datasets import DatasetError, FaceDataset
from facereject.faces.landmarks.point_set import N_LANDMARKS


def write_csv(faces: FaceDataset, path: Path) -> None:
    """Write a data set as a table; a table of that name is replaced only when the new one is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    try:
        with open(new, "w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(["image", "photo", *(f"{axis}{i}" for i in range(N_LANDMARKS) for axis in "xy")])
            for face in faces:
                place = Path(os.path.relpath(face.image_path, path.parent)).as_posix()
                rows.writerow([place, face.photo, *(f"{value:.10g}" for value in face.landmarks.ravel())])
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)


def main(arguments: Sequence[str] | None = None) -> int:
    description, _, more = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=description, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--from", dest="given", type=Path, metavar="XML", required=True)
    parser.add_argument("--out", type=Path, metavar="DIR", required=True)
    parser.add_argument("--force", action="store_true", help="replace a table that is there")
    options = parser.parse_args(arguments)
    path = options.out / f"{options.given.stem}.csv"
    if path.is_file() and not options.force:
        print(f"{path} is there already; --force makes it again")
        return 0
    try:
        faces = FaceDataset.load(options.given)
    except DatasetError as error:
        print(f"{error}\n{(__doc__ or '').split(chr(10) * 2)[-1].strip()}", file=sys.stderr)
        return 1
    for problem in faces.problems[:10]:
        print(f"  {problem.entry}: {problem.reason}", file=sys.stderr)
    if not len(faces):
        print(f"{options.given}: no usable face, {len(faces.problems)} left out", file=sys.stderr)
        return 1
    write_csv(faces, path)
    print(f"{path}: {len(faces)} faces of {len(faces.photos)} photographs, {len(faces.problems)} left out")
    return 0


if __name__ == "__main__":
    sys.exit(main())
