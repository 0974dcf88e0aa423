"""The 11 ordinal tables: from the published files to features and real target.

The target is kept as published; ``registry.load`` cuts it into classes. Where the paper does not say which
columns it used, the choice is named in ``preprocessing``, and columns left out are kept as extra arrays.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import datetime
from typing import IO

import numpy as np

from data_scripts import readers
from data_scripts.convert import Table
from data_scripts.feature_names import (
    ABALONE_NAMES,
    BANK_NAMES,
    BIKESHARE_NAMES,
    CALIFORNIA_NAMES,
    CCPP_NAMES,
    CPU_NAMES,
    FACEBOOK_NAMES,
    GPU_NAMES,
    GPU_RUNS,
    METRO_NUMBERS,
    MSD_NAMES,
)
from data_scripts.readers import FormatError

Streams = Sequence[IO[bytes]]

# the authors' script keeps these years, 41 classes
MSD_YEARS = (1970, 2010)


def abalone(files: Streams) -> Table:
    X, sex = readers.labelled(files[0], label=0)
    levels = ["M", "F", "I"]
    block, _ = readers.one_hot(sex, levels)
    names = [f"Sex={level}" for level in levels] + ABALONE_NAMES
    done = "Sex one-hot (3) + 7 numeric = 10; y = rings"
    return Table(np.hstack([block, X[:, :-1]]), X[:, -1], names, done)


def bank(files: Streams) -> Table:
    return _last_column(_stack(files), BANK_NAMES, "bank32nh.data then bank32nh.test; y = rej")


def bikeshare(files: Streams) -> Table:
    table = readers.table(files[0])
    return Table(
        readers.columns(table, BIKESHARE_NAMES),
        readers.columns(table, ["cnt"])[:, 0],
        BIKESHARE_NAMES,
        "instant, dteday, casual, registered and yr left out to get the paper's 11 features (our reading);"
        " yr kept in extra_X; y = cnt",
        extras={
            "extra_X": readers.columns(table, ["yr"]).astype(np.int16),
            "extra_names": np.array(["yr"]),
            "dteday": np.array(table["dteday"]),
        },
    )


def california(files: Streams) -> Table:
    done = "StatLib totals, not averages per household; y = medianHouseValue in USD"
    return _last_column(readers.numbers(files[0], ","), CALIFORNIA_NAMES, done)


def ccpp(files: Streams) -> Table:
    head, *rows = readers.xlsx(files[0])
    if head[:5] != [*CCPP_NAMES, "PE"]:
        raise FormatError(f"the first row of the sheet is {head[:5]}")
    values = readers.floats([row[:5] for row in rows if any(row)])
    return _last_column(values, CCPP_NAMES, "first sheet; y = PE (MW)")


def cpu(files: Streams) -> Table:
    return _last_column(_stack(files), CPU_NAMES, "none; y = usr")


def facebook(files: Streams) -> Table:
    parts = [readers.numbers(file, ",") for file in files]
    rows, done = np.vstack(parts), "Features_Variant_1.csv then Features_TestSet.csv; y = comments"
    sizes = np.array([len(part) for part in parts], dtype=np.int64)
    return Table(rows[:, :-1], rows[:, -1], FACEBOOK_NAMES, done, extras={"part_sizes": sizes})


def gpu(files: Streams) -> Table:
    table = readers.table(files[0])
    runs = readers.columns(table, GPU_RUNS)
    return Table(
        readers.columns(table, GPU_NAMES),
        runs.mean(axis=1),
        GPU_NAMES,
        "14 parameters; y = mean of the four run times (ms), the four runs kept in runs_ms",
        extras={"runs_ms": runs.astype(np.float32), "run_names": np.array(["Run1", "Run2", "Run3", "Run4"])},
    )


def metro(files: Streams) -> Table:
    table = readers.table(files[0])
    numbers = readers.columns(table, METRO_NUMBERS)
    try:
        times = [datetime.fromisoformat(text) for text in table["date_time"]]
        # newer copies leave the cell of an ordinary day empty
        holidays, holiday_names = readers.one_hot([word or "None" for word in table["holiday"]])
        weather, weather_names = readers.one_hot(table["weather_main"])
    except (KeyError, ValueError) as error:
        raise FormatError(f"column date_time, holiday or weather_main: {error}") from None
    clock = np.array([[time.month, time.weekday(), time.hour] for time in times], dtype=np.float64)
    return Table(
        np.hstack([numbers, clock, holidays, weather]),
        readers.columns(table, ["traffic_volume"])[:, 0],
        [
            *METRO_NUMBERS,
            *("month", "weekday", "hour"),
            *(f"holiday={name}" for name in holiday_names),
            *(f"weather={name}" for name in weather_names),
        ],
        "4 numeric + month, weekday (Mon=0), hour + one-hot holiday (12) + one-hot weather_main (11) = 30"
        " (our reading); y = traffic_volume",
        extras={
            "year": np.array([time.year for time in times], dtype=np.int16),
            "date_time": np.array(table["date_time"]),
        },
    )


def msd(files: Streams) -> Table:
    rows = readers.numbers(files[0], ",")
    first, last = MSD_YEARS
    rows = rows[(rows[:, 0] >= first) & (rows[:, 0] <= last)]
    return Table(rows[:, 1:], rows[:, 0], MSD_NAMES, f"years {first} to {last} only; y = year")


def supercond(files: Streams) -> Table:
    table = readers.table(files[0])
    if "critical_temp" not in table:
        raise FormatError("no column critical_temp: this train.csv belongs to another data set")
    names = [name for name in table if name != "critical_temp"]
    y = readers.columns(table, ["critical_temp"])[:, 0]
    return Table(readers.columns(table, names), y, names, "none; y = critical_temp (K)")


def _stack(files: Streams) -> np.ndarray:
    """Tables of L. Torgo's collection, whose values may be separated by spaces, tabs or commas."""
    parts = []
    for file in files:
        text = file.read().replace(b",", b" ").replace(b"\t", b" ")
        parts.append(readers.numbers(io.BytesIO(text)))
    return np.vstack(parts)


def _last_column(rows: np.ndarray, names: Sequence[str], done: str) -> Table:
    return Table(rows[:, :-1], rows[:, -1], names, done)
