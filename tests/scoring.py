"""`score_files` with all options side by side, as the command line has them."""

from __future__ import annotations

import dataclasses
from typing import Any

from facereject import score_files
from facereject.outputs import (
    AnnotatedImages,
    BestFrames,
    ContactSheet,
    Crops,
    SavedVideo,
    SortedFiles,
    Table,
    Timeline,
)
from facereject.outputs.summary import Summary
from facereject.pipeline import Running
from facereject.tracking import Tracking


def _taken(kind: type, options: dict[str, Any]) -> dict[str, Any]:
    names = [field.name for field in dataclasses.fields(kind)]
    return {name: options.pop(name) for name in names if name in options}


def outputs_of(output: Any, options: dict[str, Any]) -> list[Any]:
    """The outputs that options ask for; they are taken out of the options."""
    outputs: list[Any] = [] if output is None else [output if hasattr(output, "place") else Table(output)]
    if {"accepted", "rejected", "mode", "video_share"} & options.keys():
        outputs.append(SortedFiles(**_taken(SortedFiles, options)))
    if "save" in options:
        options["path"] = options.pop("save")
        outputs.append(SavedVideo(**_taken(SavedVideo, options)))
    for name, kind in (("crops", Crops), ("frames", BestFrames), ("annotated", AnnotatedImages)):
        if name in options:
            more = {key: options[key] for key in ("size", "best_per_track") if key in options}
            known = {field.name for field in dataclasses.fields(kind)}
            outputs.append(kind(options.pop(name), **{k: v for k, v in more.items() if k in known}))
    for key in ("size", "best_per_track"):
        options.pop(key, None)
    for name, single in (("contact_sheet", ContactSheet), ("timeline", Timeline)):
        if name in options:
            outputs.append(single(options.pop(name)))
    return outputs


def score(paths: Any, output: Any = None, **options: Any) -> Summary:
    """Score files."""
    outputs = outputs_of(output, options)
    running, tracking = Running(**_taken(Running, options)), Tracking(**_taken(Tracking, options))
    return score_files(paths, outputs, running=running, tracking=tracking, **options)
