"""Parsers on a few invented rows in the published formats."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from data_scripts.convert import Table, compact, content_digest
from data_scripts.feature_names import GPU_NAMES
from data_scripts.parsers import PARSERS
from data_scripts.readers import FormatError, arff, numbers, xlsx
from data_scripts.registry import DATASETS

SHEET = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def row(*values, between=","):
    return between.join(str(value) for value in values) + "\n"


def workbook(rows):
    """A minimal .xlsx file; words go to the shared strings, as spreadsheet programs write them."""
    words = sorted({cell for cells in rows for cell in cells if isinstance(cell, str)})
    body = ""
    for i, cells in enumerate(rows, 1):
        body += f'<row r="{i}">'
        for letter, cell in zip("ABCDE", cells, strict=False):
            kind, value = (' t="s"', words.index(cell)) if isinstance(cell, str) else ("", cell)
            body += "" if cell is None else f'<c r="{letter}{i}"{kind}><v>{value}</v></c>'
        body += "</row>"
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as book:
        strings = "".join(f"<si><t>{word}</t></si>" for word in words)
        book.writestr("xl/sharedStrings.xml", f"<sst {SHEET}>{strings}</sst>")
        book.writestr(
            "xl/worksheets/sheet1.xml", f"<worksheet {SHEET}><sheetData>{body}</sheetData></worksheet>"
        )
    return file.getvalue()


BANK_HEAD = (
    '"age";"job";"marital";"education";"default";"balance";"housing";"loan";"contact";"day";"month";'
    '"duration";"campaign";"pdays";"previous";"poutcome";"y"\n'
)
METRO_HEAD = (
    "holiday,temp,rain_1h,snow_1h,clouds_all,weather_main,weather_description,date_time,traffic_volume\n"
)
BIKE_HEAD = (
    "instant,dteday,season,yr,mnth,hr,holiday,weekday,workingday,weathersit,temp,atemp,hum,windspeed,casual,"
    "registered,cnt\n"
)
GPU_HEAD = row(*GPU_NAMES, *(f"Run{i} (ms)" for i in (1, 2, 3, 4)))

# name: files, first rows of X (some columns), y, number of features
SAMPLES = {
    "AVILA": ([row(*[0.5] * 10, "W"), row(*[-1.5] * 10, "A")], {0: [0.5, -1.5]}, [9, 0], 10),
    "CODRNA": (
        ["-1 1:-766 2:128 8:0.25\n", "+1 1:5\n1 3:0.5\n"],
        {0: [-766, 5, 0], 7: [0.25, 0, 0]},
        [0, 1, 1],
        8,
    ),
    "IJCNN": (["-1 6:1 22:-0.5\n", "1 1:1\n"], {5: [1, 0], 21: [-0.5, 0]}, [0, 1], 22),
    "COVTYPE": ([row(*range(54), 7) + row(*range(54), 1)], {53: [53, 53]}, [6, 0], 54),
    "LETTER": (["T," + row(*range(16)) + "A," + row(*range(16))], {1: [1, 1]}, [19, 0], 16),
    "MARKETING": (
        [
            BANK_HEAD
            + '58;"management";"married";"tertiary";"no";-2143;"yes";"no";"unknown";5;"may";261;1;-1;0;'
            + '"unknown";"no"\n30;"services";"married";"primary";"no";12;"yes";"no";"cellular";6;"may";9;2;'
            + '-1;0;"other";"yes"\n',
        ],
        {0: [58, 30], 1: [-2143, 12], 7: [1, 0], 8: [0, 1], 9: [1, 1]},
        [0, 1],
        20,
    ),
    "PENDIGIT": ([" 88, 92" + ", 5" * 14 + ", 8\n", row(*range(16), 0)], {0: [88, 0]}, [8, 0], 16),
    "SATTELITE": (
        [row(*range(36), 7, between=" "), row(*range(36), 1, between=" ")],
        {2: [2, 2]},
        [5, 0],
        36,
    ),
    "SENSORLESS": ([row(*[1e-5] * 48, 11, between=" ")], {47: [1e-5]}, [10], 48),
    "SHUTTLE": (["50 21 77 0 28 0 27 48 22 2\n", "55 0 92 0 0 26 36 92 56 4\n"], {0: [50, 55]}, [1, 3], 9),
    "ABALONE": (
        ["M,0.455,.3,.1,.5,.2,.1,.15,15\nI,0.33,.2,.1,.2,.1,.1,.1,7\n"],
        {0: [1, 0], 2: [0, 1]},
        [15, 7],
        10,
    ),
    "BANK": (
        [" ".join(["0.5"] * 32) + " 0.25 \n", " ".join(["1"] * 32) + " 0 \n"],
        {0: [0.5, 1]},
        [0.25, 0],
        32,
    ),
    "BIKESHARE": (
        [BIKE_HEAD + "1,2011-01-01,1,0,1,5,0,6,0,1,0.24,0.28,0.81,0,3,13,16\n"],
        {0: [1], 2: [5], 10: [0]},
        [16],
        11,
    ),
    "CALIFORNIA": (
        ["-122.23,37.88,41.0,880.0,129.0,322.0,126.0,8.3252,452600.0\n"],
        {0: [-122.23]},
        [452600],
        8,
    ),
    "CCPP": (
        [workbook([["AT", "V", "AP", "RH", "PE"], [14.96, 41.76, 1024.07, 73.17, 463.26]])],
        {0: [14.96], 3: [73.17]},
        [463.26],
        4,
    ),
    "CPU": ([row(*range(21), 90)], {20: [20]}, [90], 21),
    "FACEBOOK": ([row(*[2.5] * 53, 3), row(*[1] * 53, 0)], {0: [2.5, 1]}, [3, 0], 53),
    "GPU": ([GPU_HEAD + row(*range(14), 1.0, 2.0, 3.0, 6.0)], {13: [13]}, [3.0], 14),
    "METRO": (
        [
            METRO_HEAD
            + "None,288.28,0.0,0.0,40,Clouds,scattered clouds,2012-10-02 09:00:00,5545\n"
            + ",273.0,0.0,0.0,90,Rain,light rain,2012-10-07 10:00:00,4516\n"
            + "Columbus Day,273.1,0.0,0.0,1,Clouds,few clouds,2012-10-08 00:00:00,455\n"
        ],
        {4: [10, 10, 10], 5: [1, 6, 0], 6: [9, 10, 0], 7: [0, 0, 1], 8: [1, 1, 0], 9: [1, 0, 1]},
        [5545, 4516, 455],
        11,
    ),
    "MSD": (
        ["".join(row(year, *[0.5] * 90) for year in (1969, 1970, 2010, 2011))],
        {0: [0.5, 0.5]},
        [1970, 2010],
        90,
    ),
    "SUPERCOND": (["number_of_elements,mean_atomic_mass,critical_temp\n4,88.9,29\n"], {1: [88.9]}, [29], 2),
}


def parse(name, files):
    streams = [io.BytesIO(text if isinstance(text, bytes) else text.encode()) for text in files]
    return PARSERS[name].parse(streams)


@pytest.mark.parametrize("name", SAMPLES)
def test_sample(name):
    files, columns, y, features = SAMPLES[name]
    assert len(files) == len(PARSERS[name].files)
    table = parse(name, files)
    assert table.X.shape == (len(y), features)
    for column, values in columns.items():
        np.testing.assert_allclose(table.X[:, column], values)
    np.testing.assert_allclose(table.y, y)
    assert bool(table.classes) == (DATASETS[name].task == "classification")
    if table.classes:
        assert len(table.classes) == DATASETS[name].n_classes


def test_every_table_has_a_parser():
    assert list(PARSERS) == list(DATASETS)
    assert set(PARSERS) - set(SAMPLES) == {"PHISHING"}


def test_phishing_is_one_hot_in_order_of_first_appearance():
    text = (
        "@relation p\n@attribute 'a b' { -1,1 }\n@ATTRIBUTE c { -1,0,1 }\n@attribute Result {-1,1}\n\n@data\n"
    )
    table = parse("PHISHING", [text + "-1,0,-1\n1,0,1\n% note\n-1,1,1\n"])
    assert list(table.feature_names) == ["a b=-1", "c=0", "a b=1", "c=1"]
    np.testing.assert_array_equal(table.X > 0, [[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 0, 1]])
    assert set(np.unique(table.X)) == {0, 0.18257}
    assert table.y.tolist() == [0, 1, 1]


BROKEN = {
    "LETTER": ["T,1,2\n"],
    "AVILA": [row(*[0.5] * 10, "Q"), row(*[0.5] * 10, "A")],
    "COVTYPE": [row(*range(54), 8)],
    "PENDIGIT": ["1, two, 3\n", "\n"],
    "IJCNN": ["-1 one:two\n", "1 1:1\n"],
    "MARKETING": ["a;b\n1;2\n"],
    "BIKESHARE": ["season,mnth\n1,2\n"],
    "CCPP": [b"not a workbook"],
    "METRO": [METRO_HEAD + "None,288.28,0.0,0.0,40,Clouds,scattered clouds,yesterday,5545\n"],
    "SUPERCOND": ["a,b\n1,2\n"],
    "PHISHING": ["no data line"],
    "ABALONE": ["X,0.455,.3,.1,.5,.2,.1,.15,15\n"],
    "GPU": [""],
    "CALIFORNIA": ["1,2\n1,2,3\n"],
    "BANK": [" ".join(["nan"] * 33), " ".join(["1"] * 33)],
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_refused_with_a_reason(name):
    with pytest.raises(FormatError, match=r"\w{3}"):
        parse(name, BROKEN[name])


def test_readers():
    np.testing.assert_array_equal(numbers(io.BytesIO(b"1,2,\n3,4,\n"), ","), [[1, 2], [3, 4]])
    assert xlsx(io.BytesIO(workbook([["a", None, 2.5]]))) == [["a", "", "2.5"]]
    with pytest.raises(FormatError, match="has not 1 values"):
        arff(io.BytesIO(b"@attribute a real\n@data\n1,2\n"))


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([0, 255], "uint8"),
        ([-1, 3], "int16"),
        ([0, 40_000], "int32"),
        ([0.5, 1], "float32"),
        ([1e12], "float32"),
    ],
)
def test_compact(values, dtype):
    assert compact(np.array([values], dtype=float)).dtype == dtype


def test_digest_ignores_order_and_storage(rng):
    X, y = rng.integers(0, 9, size=(50, 3)), rng.normal(size=50)
    order = rng.permutation(50)
    digest = content_digest(X, y)
    assert digest == content_digest(X[order].astype(np.float32), y[order])
    assert digest != content_digest(X, y[order])
    assert digest != content_digest(X[:-1], y[:-1])
    assert content_digest(np.array([[0.0]]), np.array([0.0])) == content_digest(
        np.array([[-0.0]]), np.array([0.0])
    )


def test_table_refuses_gaps():
    with pytest.raises(FormatError, match="missing or infinite"):
        Table(np.array([[np.nan]]), np.zeros(1), ["a"], "")
    with pytest.raises(FormatError, match="do not fit"):
        Table(np.zeros((2, 1)), np.zeros(3), ["a"], "")
