"""Tables of the experiments in explain.py, for the page that explains where we differ."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tools.reproduce.explain import (
    COLUMNS,
    CS,
    GAPS,
    MANY_SPLITS,
    RULES,
    SPLITS,
    TARGETS,
    TASK,
    WEAK_CS,
    machine,
)
from tools.reproduce.store import Store
from tools.reproduce.summary import PaperTable, cell
from tools.reproduce.tables import markdown

_GRIDS = {"ours": "our grid", "paper": "the paper's"}
VARIANTS: dict[str, Iterable[str]] = {"bins": RULES, "columns": COLUMNS, "weaker": WEAK_CS}
_ACCURACY = [f"c = {c}, gap {gap:g}" for c in (CS[0], CS[-1]) for gap in GAPS]
HEADERS = {
    "bins": ["SVOR", *RULES, "paper"],
    "grids": [
        "AuRC of SELE",
        *(f"{grid}, {n} splits" for grid in _GRIDS.values() for n in (SPLITS, MANY_SPLITS)),
        "paper",
    ],
    "weaker": ["LR", *WEAK_CS, "paper"],
    "trees": ["R@100", "random forest", "paper's LR", "paper's SVM"],
    "columns": ["SVOR", *COLUMNS, "paper"],
    "accuracy": ["AuRC of the margin score, one split", *_ACCURACY, "paper"],
    "chance": ["LR", "MCP", "SELE", "REG", "TCP", "splits in which SELE is below MCP"],
    "margins": ["AuRC of the margin score (error on Val1)", *(f"c = {c}" for c in CS), "paper"],
    "targets": ["AuRC of the margin score", *TARGETS, "paper"],
}


def blocks(store: Store) -> dict[str, str]:
    """Tables of the experiments at hand, for README.md."""
    rows: dict[str, list[list[str]]] = {}
    for name, results in store.load(TASK).items():
        values = results[0]["found"]
        experiment, dataset, *kind = name.split("-")
        cells = {key: str(cell(value)) for key, value in values.items()}
        title, paper = dataset, PaperTable(kind[0] if kind else machine(dataset))
        if experiment in VARIANTS:
            variants = VARIANTS[experiment]
            for what in ("R@100", *paper.methods):
                printed = paper.r100(dataset) if what == "R@100" else paper.aurc(dataset, what)
                row = [f"{dataset} {what}", *(cells[f"{what}, {one}"] for one in variants), str(printed)]
                rows.setdefault(experiment, []).append(row)
            continue
        if experiment == "grids":
            parts = [values[grid][:n] for grid in _GRIDS for n in (SPLITS, MANY_SPLITS)]
            title, row = f"{dataset}, {kind[0]}", [str(cell(part)) for part in parts]
            printed = paper.aurc(dataset, "SELE")
        elif experiment == "chance":
            for n in (SPLITS, MANY_SPLITS):
                row = [f"{dataset}, {n} splits", *(str(cell(values[method][:n])) for method in paper.methods)]
                wins = np.sum(np.array(values["SELE"][:n]) < np.array(values["MCP"][:n]))
                rows.setdefault(experiment, []).append([*row, f"{wins} of {n}"])
            row = [f"{dataset}, paper", *(str(paper.aurc(dataset, method)) for method in paper.methods)]
            rows[experiment].append([*row, "?"])
            continue
        elif experiment == "margins":
            # the error is a fraction in classification, where the tables have percent
            scale = 100 if machine(dataset) == "SVM" else 1
            errors = [scale * np.mean(values[f"validation {c}"]) for c in CS]
            row = [f"{cells[f'margin {c}']} ({error:.2f})" for c, error in zip(CS, errors, strict=True)]
            printed = paper.aurc(dataset, "Margin")
        elif experiment == "trees":
            row, printed = [cells["forest"], str(PaperTable("LR").r100(dataset))], paper.r100(dataset)
        elif experiment == "accuracy":
            row, printed = [cells[key] for key in _ACCURACY], paper.aurc(dataset, "Margin")
        else:
            row, printed = [cells[key] for key in TARGETS], paper.aurc(dataset, "Margin")
        rows.setdefault(experiment, []).append([title, *row, str(printed)])
    return {f"explain-{name}": markdown(HEADERS[name], table) for name, table in rows.items()}
