"""Results on disk: one JSON file per data set × split, written whole or not at all, never computed twice."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from facereject._files import write_whole

_FLAT_LIST = re.compile(r"\[[^][{}\"]*\]")


class MixedSettingsError(RuntimeError):
    """Stored results were made with different settings and cannot share a table."""


class Store:
    """Results under one folder, ``raw/<task>/<DATASET>-<split>.json``.

    Parameters
    ----------
    folder : Path
        Made when the first result is saved.
    settings : dict
        What the numbers depend on besides data set and split; stored with each result.
    """

    def __init__(self, folder: Path, settings: dict[str, Any]):
        self.folder = Path(folder)
        self.settings = settings

    def path(self, task: str, dataset: str, split: int) -> Path:
        return self.folder / "raw" / task / f"{dataset}-{split}.json"

    def state(self, task: str, dataset: str, split: int) -> str:
        """ "done", "missing", "unreadable" or "other settings"."""
        path = self.path(task, dataset, split)
        if not path.exists():
            return "missing"
        try:
            stored = json.loads(path.read_text())
        except ValueError:
            return "unreadable"
        if not isinstance(stored, dict) or stored.get("settings") != self.settings:
            return "other settings"
        return "done"

    def read(self, task: str, dataset: str, split: int) -> dict[str, Any]:
        """A result that is "done"."""
        stored: dict[str, Any] = json.loads(self.path(task, dataset, split).read_text())
        return stored

    def save(self, result: dict[str, Any]) -> Path:
        """Write a result; readers see the old file or the new one, also if the machine stops in between."""
        path = self.path(result["task"], result["dataset"], result["split"])
        text = json.dumps(result, indent=1, ensure_ascii=False)
        # a curve of fifty numbers on one line, not on fifty
        text = _FLAT_LIST.sub(lambda match: " ".join(match[0].split()), text)
        write_atomically(path, text + "\n")
        return path

    def load(self, task: str) -> dict[str, list[dict[str, Any]]]:
        """All results of a task: data set -> results in the order of the splits.

        Raises
        ------
        MixedSettingsError
            If they were not all made with the same settings.
        """
        found: dict[str, list[dict[str, Any]]] = {}
        first: tuple[Path, Any] | None = None
        for path in sorted((self.folder / "raw" / task).glob("*.json")):
            result = json.loads(path.read_text())
            if first is None:
                first = path, result["settings"]
            elif result["settings"] != first[1]:
                raise MixedSettingsError(
                    f"{path.name} was made with {result['settings']}, {first[0].name} with {first[1]}: "
                    "run the experiments again, they repeat what is outdated"
                )
            found.setdefault(result["dataset"], []).append(result)
        for results in found.values():
            results.sort(key=lambda result: result["split"])
        return found


def write_atomically(path: Path, text: str) -> None:
    """Write beside the target, then rename over it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text)
