"""Make the paper's tables from the published originals, or check tables that are there.

    python data_scripts/tables.py LETTER ABALONE --out DIR [--from DIR]
    python data_scripts/tables.py --all --out DIR --from DIR
    python data_scripts/tables.py --check DIR [NAME ...]
    python data_scripts/tables.py --list

Originals are looked for in the folder of --from, with sub-folders and inside archives, then in
OUT/originals; what is missing is downloaded to OUT/originals. A break is no loss: finished tables are
skipped and downloads continue where they stopped. No original needs a licence to be accepted by hand.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from data_scripts.archives import open_original
from data_scripts.check import check, report
from data_scripts.convert import Table, save
from data_scripts.fetch import fetch, sha256_of
from data_scripts.parsers import PARSERS
from data_scripts.readers import FormatError
from data_scripts.registry import DATASETS, DataError, DataSet, get


def make(entry: DataSet, out: Path, given: Path | None = None, *, offline: bool = False) -> None:
    """Write ``<stem>.npz`` from originals that are at hand, or else from downloaded ones."""
    store = out / "originals"
    folders = [folder for folder in (given, store) if folder is not None and folder.is_dir()]
    try:
        table = _parse(entry, folders)
    except FileNotFoundError as error:
        if offline:
            raise DataError(_by_hand(entry, str(error), given or store)) from None
        for original in entry.originals:
            print(f"  {original.url}")
            fetch(original.url, store / original.file, original.sha256)
        try:
            table = _parse(entry, [*folders, store])
        except FileNotFoundError as error:
            raise DataError(f"{entry.name}: no file {error} in what was downloaded to {store}") from None
    _expect_size(entry, table)
    save(table, out / f"{entry.stem}.npz", source="; ".join(original.url for original in entry.originals))


def _parse(entry: DataSet, folders: Sequence[Path]) -> Table:
    for original in entry.originals:
        _warn_of_other_version(original.file, original.sha256, folders)
    parser = PARSERS[entry.name]
    prefer = [original.file for original in entry.originals]
    with ExitStack() as stack:
        files = [stack.enter_context(open_original(name, folders, prefer)) for name in parser.files]
        try:
            return parser.parse(files)
        except FormatError as error:
            raise FormatError(f"{entry.name} ({', '.join(parser.files)}): {error}") from None


def _warn_of_other_version(file: str, sha256: str, folders: Sequence[Path]) -> None:
    for path in (path for folder in folders for path in folder.rglob(file) if sha256):
        if sha256_of(path) != sha256:
            print(f"  note: {path} has another checksum than the published file", file=sys.stderr)


def _expect_size(entry: DataSet, table: Table) -> None:
    rows, features = table.X.shape
    if (rows, features) != (entry.paper_rows, entry.features):
        raise FormatError(
            f"{entry.name}: {rows:,} rows of {features} features, the paper has {entry.paper_rows:,} of"
            f" {entry.features}: is the original complete?"
        )


def _by_hand(entry: DataSet, file: str, folder: Path) -> str:
    addresses = "\n".join(f"      {original.url}" for original in entry.originals)
    return (
        f"{entry.name}: no file {file}, neither plain nor packed nor in an archive."
        f" Download\n{addresses}\n    to {folder} and run the command again."
    )


def _list() -> str:
    lines = [f"{'name':11}{'task':15}{'rows':>8} {'features':>8} {'classes':>7}  original"]
    for entry in DATASETS.values():
        size = f"{entry.paper_rows:8} {entry.features:8} {entry.n_classes:7}"
        address = " ".join(original.url for original in entry.originals)
        lines.append(f"{entry.name:11}{entry.task:15}{size}  {address} ({entry.licence})")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    description, _, examples = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=description, epilog=examples, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="tables to make or check")
    parser.add_argument("--all", action="store_true", help="all 22 tables")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the .npz files")
    parser.add_argument("--from", dest="given", type=Path, metavar="DIR", help="folder with originals")
    parser.add_argument("--offline", action="store_true", help="download nothing")
    parser.add_argument("--force", action="store_true", help="make tables again that are finished")
    parser.add_argument("--check", type=Path, metavar="DIR", help="compare tables in DIR with the registry")
    parser.add_argument("--list", action="store_true", help="the tables and their originals")
    options = parser.parse_args(arguments)
    try:
        entries = [get(name) for name in options.names]
    except DataError as error:
        parser.error(str(error))
    if options.list:
        print(_list())
        return 0
    if options.check:
        findings = [check(entry, options.check) for entry in entries or DATASETS.values()]
        print(report(findings))
        return 0 if all(found.usable for found in findings) else 1
    if options.all:
        entries = list(DATASETS.values())
    if not entries or options.out is None:
        parser.error("name tables, or --all, and the folder --out; or use --check DIR or --list")
    if options.given is not None and not options.given.is_dir():
        parser.error(f"no folder {options.given}")
    failed = []
    for i, entry in enumerate(entries, 1):
        print(f"[{i}/{len(entries)}] {entry.name}", flush=True)
        found = check(entry, options.out)
        if found.usable and found.verdict != "partial" and not options.force:
            print(f"  there already ({found.rows:,} rows)")
            continue
        try:
            make(entry, options.out, options.given, offline=options.offline)
            found = check(entry, options.out)
            print(f"  {found.rows:,} rows, {found.features} features: {found.verdict}")
        except (DataError, OSError) as error:
            failed.append(entry.name)
            print(f"  {error}", file=sys.stderr)
    if failed:
        print(f"not made: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
