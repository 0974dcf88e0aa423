"""Find the jobs that are missing, run them, write the report: the body of ``python -m tools.reproduce``."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from data_scripts import registry
from tools.reproduce import explain, tabular
from tools.reproduce.scheduler import Job, run_jobs
from tools.reproduce.store import MixedSettingsError, Store

#: Processor seconds of one split, measured, for the order of the jobs; others take SMALL.
COSTS = {"COVTYPE": 75, "CODRNA": 33, "GPU": 18, "SENSORLESS": 17, "SHUTTLE": 17, "LETTER": 12, "IJCNN": 11}
SMALL = 5
#: One split of these is the quick run.
QUICK = ("PENDIGIT", "SATTELITE", "ABALONE", "CCPP", "CPU")


def main(options: Namespace) -> int:
    """Run what is missing, write the report; 1 if an experiment failed, else 0."""
    if options.what == "predictors":
        return predictors(options)
    store = Store(options.results, tabular.settings(options.quick, options.solver))
    failed: list[str] = []
    if not options.report_only:
        jobs = tabular_jobs(options, store)
        if explain.TASK in options.tasks:
            jobs += explain.jobs(store, table_folder(options.data), options.force)
        if jobs:
            failed += run_jobs(jobs, options.jobs)
    if "landmarks" in options.tasks:
        failed += landmarks(options)
    # matplotlib is needed by the report alone
    from tools.reproduce import report

    try:
        report.write(store)
    except MixedSettingsError as error:
        print(error)
        failed.append("report")
    if failed:
        print(f"{len(failed)} experiment(s) failed: {', '.join(failed)}; the same command tries them again")
    return 1 if failed else 0


def chosen_datasets(options: Namespace) -> list[str]:
    """Names of the tables asked for, in the order of the registry."""
    known = [name for name, entry in registry.DATASETS.items() if entry.task in options.tasks]
    if not options.datasets:
        return [name for name in known if not options.quick or name in QUICK]
    asked = {name.upper() for name in options.datasets}
    if unknown := sorted(asked - set(known)):
        raise SystemExit(f"no such data set among {', '.join(known)}: {', '.join(unknown)}")
    return [name for name in known if name in asked]


def tabular_jobs(options: Namespace, store: Store) -> list[Job]:
    """A job for each data set and split without a valid result."""
    jobs, n_done = [], 0
    for dataset in chosen_datasets(options):
        task = registry.DATASETS[dataset].task
        for split in range(options.splits):
            state = store.state(task, dataset, split)
            if state == "done" and not options.force:
                n_done += 1
                continue
            if state in ("other settings", "unreadable"):
                print(f"{dataset} split {split}: stored result has {state} and is computed again")
            arguments = (store, dataset, split, options.data)
            jobs.append(Job(f"{dataset} split {split}", COSTS.get(dataset, SMALL), compute, arguments))
    if n_done:
        print(f"{n_done} result(s) are there already")
    return jobs


def compute(store: Store, dataset: str, split: int, data: Path | None) -> None:
    """One result, computed and saved; runs in a process of its own."""
    store.save(tabular.run(dataset, split, table_folder(data), store.settings))


def table_folder(data: Path | None) -> Path | None:
    """Where the tables are below ``--data``; None lets the registry look."""
    return None if data is None else data / "uci"


def predictors(options: Namespace) -> int:
    """The shipped models on predictors they were not made for, and their page."""
    # dlib, OpenCV and the weights of the mesh are needed by this part alone
    from tools.reproduce import other_predictors, other_predictors_page
    from tools.reproduce.landmarks import data_folder

    if not options.report_only:
        other_predictors.run(options.results, data_folder(options.data), options.work, force=options.force)
    print(other_predictors_page.write(options.results))
    return 0


def landmarks(options: Namespace) -> list[str]:
    """The landmark experiment, which spreads over processes itself; ["landmarks"] if it failed."""
    # dlib and OpenCV are needed by this part alone
    from tools.reproduce import landmark_report
    from tools.reproduce import landmarks as experiment

    if options.report_only:
        if (options.results / "raw" / "landmarks").is_dir():
            landmark_report.write(options.results)
        return []
    try:
        settings: dict[str, Any] = {"quick": options.quick, "jobs": options.jobs, "splits": options.splits}
        experiment.run(options.results, options.data, options.work, **settings)
    except Exception as error:
        print(f"landmarks failed: {error}")
        return ["landmarks"]
    return []
