"""Turn the 300-W archives, or folders unpacked from them, into the project's folder of faces.

    python data_scripts/faces_300w.py --from DIR --out DIR [--max-box 200] [--margin 2.5]
    python data_scripts/faces_300w.py --from DIR --out DIR --full-size

DIR holds afw.zip, helen.zip, lfpw.zip, ibug.zip, 300w.zip.001 and so on, or folders of photographs with
.pts files. Each face becomes OUT/<collection>/.../NAME.jpg + NAME.pts (68 points, counted from 1): a square
of 2.5 times the landmarks' box, at most 200 px for the box. Finished faces are skipped, so a break is no
loss. ``FaceDataset.load(OUT)`` reads the result.

300-W is for research only: its owners ask for a form with name and purpose before the download. Fetch the
archives by hand from https://ibug.doc.ic.ac.uk/resources/facial-point-annotations/
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path, PurePosixPath

import PIL.Image

sys.path.insert(0, str(Path(__file__).parents[1]))

from data_scripts.face_crops import Cut, convert_face, is_finished
from data_scripts.joined import JoinedFiles, parts_of
from data_scripts.registry import DataError

PHOTOS = (".jpg", ".jpeg", ".png", ".bmp")
SETTINGS = "settings.json"
# bytes; the largest photograph of 300-W has a few million
MAX_MEMBER = 200_000_000
BY_HAND = """300-W is for research only, and its owners ask for a form before the download. Fetch
    afw.zip helen.zip lfpw.zip ibug.zip 300w.zip.001 300w.zip.002 300w.zip.003 300w.zip.004
(or some of them) from https://ibug.doc.ic.ac.uk/resources/facial-point-annotations/ and put them, packed or
unpacked, into"""


class Source:
    """Faces of one archive or folder: places of the annotations, and pairs of files on demand."""

    def __init__(self, label: str, names: Sequence[str], archive: zipfile.ZipFile | None, root: Path) -> None:
        self.label = label
        self._archive, self._root = archive, root
        photos: dict[str, str] = {}
        for name in names:
            stem, suffix = _stem(name)
            if suffix in PHOTOS:
                photos.setdefault(stem, name)
        self.faces = {s: (photos.get(s), n) for n in sorted(names) for s, suf in [_stem(n)] if suf == ".pts"}

    @contextmanager
    def files(self, photo: str, annotation: str) -> Iterator[tuple[Path, Path]]:
        """The photograph and its .pts file as files; members of an archive under names of our own."""
        if self._archive is None:
            yield self._root / photo, self._root / annotation
            return
        with tempfile.TemporaryDirectory() as folder:
            places = []
            for member in (photo, annotation):
                if self._archive.getinfo(member).file_size > MAX_MEMBER:
                    raise ValueError("larger than any photograph of 300-W")
                place = Path(folder) / f"face{PurePosixPath(member).suffix.lower()}"
                with self._archive.open(member) as packed, open(place, "wb") as file:
                    shutil.copyfileobj(packed, file)
                places.append(place)
            yield places[0], places[1]


@contextmanager
def open_archive(path: Path) -> Iterator[Source]:
    """An archive, from its parts if the name ends in .001."""
    parts = parts_of(path) if path.suffix == ".001" else [path]
    label = path.name.lower().split(".zip")[0]
    try:
        with io.BufferedReader(JoinedFiles(parts)) as file, zipfile.ZipFile(file) as archive:
            yield Source(label, archive.namelist(), archive, path.parent)
    except zipfile.BadZipFile as error:
        raise DataError(
            f"{path.name} cannot be read ({error}): is it complete, with all its parts?"
        ) from None


def target_of(label: str, stem: str, out: Path) -> Path:
    """Where a face goes: its path in the archive, under the name of its collection.

    Paths that would lead out of the folder are refused.
    """
    path = PurePosixPath(stem.replace("\\", "/"))
    if path.is_absolute() or any(part == ".." or ":" in part for part in path.parts):
        raise ValueError("its path leads out of the folder")
    folder = () if not label or path.parts[0].lower() == label else (label,)
    head = tuple(part.lower() for part in path.parts[:1]) if len(path.parts) > 1 else ()
    return out.joinpath(*folder, *head, *path.parts[len(head) :])


def convert(source: Source, out: Path, cut: Cut, force: bool = False) -> tuple[int, int, list[str]]:
    """Convert all faces of a source: (made, there already, problems)."""
    made, there, problems = 0, 0, []
    for number, (stem, (photo, annotation)) in enumerate(source.faces.items(), 1):
        if sys.stderr.isatty():
            print(f"\r  {source.label or 'folder'}: {number}/{len(source.faces)}", end="", file=sys.stderr)
        try:
            target = target_of(source.label, stem, out)
            if is_finished(target) and not force:
                there += 1
                continue
            if photo is None:
                raise ValueError("no photograph of the same name")
            with source.files(photo, annotation) as files:
                convert_face(*files, target, cut)
            made += 1
        except (ValueError, OSError, RuntimeError, zlib.error, PIL.Image.DecompressionBombError) as error:
            problems.append(f"{annotation}: {error}")
        except zipfile.BadZipFile as error:
            problems.append(f"{annotation}: damaged in the archive ({error})")
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return made, there, problems


def sources(folder: Path) -> Iterator[Path]:
    """Archives in a folder, then the folder itself if it holds .pts files."""
    archives = [path for path in folder.rglob("*") if path.name.lower().endswith((".zip", ".zip.001"))]
    yield from sorted(path for path in archives if path.is_file())
    if next(folder.rglob("*.pts"), None) is not None:
        yield folder


def _stem(name: str) -> tuple[str, str]:
    suffix = PurePosixPath(name).suffix
    return name[: len(name) - len(suffix)], suffix.lower()


@contextmanager
def _open(path: Path) -> Iterator[Source]:
    if path.is_dir():
        names = [file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()]
        yield Source("", names, None, path)
    else:
        with open_archive(path) as source:
            yield source


def _keep_settings(out: Path, cut: Cut, force: bool) -> None:
    """Faces of one folder are made one way; a second way would hide among the finished ones."""
    file = out / SETTINGS
    if file.is_file() and not force and json.loads(file.read_text(encoding="utf-8")) != asdict(cut):
        raise DataError(f"{out} holds faces made with other settings ({file}): choose another, or --force")
    out.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(asdict(cut)) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    description, _, more = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=description, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--from", dest="given", type=Path, metavar="DIR", required=True)
    parser.add_argument("--out", type=Path, metavar="DIR", required=True)
    parser.add_argument("--max-box", type=float, default=200.0, metavar="PX", help="longer side of the box")
    parser.add_argument("--margin", type=float, default=2.5, help="side of the crop in boxes")
    parser.add_argument("--full-size", action="store_true", help="copy the photographs as they are")
    parser.add_argument("--force", action="store_true", help="make finished faces again")
    options = parser.parse_args(arguments)
    if options.max_box <= 0 or options.margin < 1:
        parser.error("--max-box must be positive and --margin at least 1")
    if options.out.resolve().is_relative_to(options.given.resolve()):
        parser.error("--out must not lie in --from, where every .pts file is taken for an original")
    found = list(sources(options.given)) if options.given.is_dir() else []
    if not found:
        print(f"{options.given} holds no .zip archive and no .pts file.", file=sys.stderr)
        print(f"{BY_HAND} {options.given}", file=sys.stderr)
        return 1
    cut = Cut(options.margin, options.max_box, options.full_size)
    failed = False
    try:
        _keep_settings(options.out, cut, options.force)
    except DataError as error:
        parser.error(str(error))
    for path in found:
        try:
            with _open(path) as source:
                made, there, problems = convert(source, options.out, cut, options.force)
        except DataError as error:
            failed = True
            print(f"{error}", file=sys.stderr)
            continue
        print(f"{path.name}: {made} faces made, {there} there already, {len(problems)} left out")
        for problem in problems[:10]:
            print(f"  {problem}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
