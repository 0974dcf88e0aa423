"""The command for tables: from originals at hand or downloaded to checked files, skipped when finished."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from data_scripts import check as checking
from data_scripts import tables
from data_scripts.catalogue import Original
from data_scripts.convert import Table, content_digest, save
from data_scripts.registry import DATASETS, load


@pytest.fixture
def letters(tmp_path, rng, monkeypatch):
    """A LETTER of 52 rows: its original in a folder, and a registry that expects that size."""
    X = rng.integers(0, 16, size=(52, 16))
    y = np.arange(52) % 26
    lines = "".join(f"{chr(65 + label)},{','.join(map(str, row))}\n" for label, row in zip(y, X, strict=True))
    given = tmp_path / "given"
    given.mkdir()
    with zipfile.ZipFile(given / "letter+recognition.zip", "w") as archive:
        archive.writestr("letter-recognition.data", lines)
    entry = replace(DATASETS["LETTER"], rows=52, paper_rows=52, digest=content_digest(X, y))
    monkeypatch.setitem(DATASETS, "LETTER", entry)
    return given


def run(*arguments):
    return tables.main([str(argument) for argument in arguments])


def test_from_a_folder_then_skipped_then_forced(letters, tmp_path, capsys):
    out = tmp_path / "out"
    assert run("letter", "--out", out, "--from", letters, "--offline") == 0
    assert "52 rows, 16 features: equal" in capsys.readouterr().out
    assert [path.name for path in out.iterdir()] == ["letter.npz"]
    X, y = load("LETTER", out)
    assert X.shape == (52, 16)
    assert y.tolist() == [i % 26 for i in range(52)]
    with np.load(out / "letter.npz", allow_pickle=False) as file:
        assert file["X"].dtype == np.uint8
        assert file["y"].dtype == np.int16
        assert str(file["task"]) == "classification"
        assert "archive.ics.uci.edu" in str(file["source"])
        assert file["classes"].tolist() == [chr(65 + i) for i in range(26)]
    before = (out / "letter.npz").stat().st_mtime_ns
    assert run("LETTER", "--out", out, "--offline") == 0
    assert "there already" in capsys.readouterr().out
    assert (out / "letter.npz").stat().st_mtime_ns == before
    assert run("LETTER", "--out", out, "--from", letters, "--offline", "--force") == 0
    assert (out / "letter.npz").stat().st_mtime_ns > before


def test_a_damaged_table_is_made_again(letters, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "letter.npz").write_bytes(b"PK\x03\x04 half a file")
    assert run("LETTER", "--out", out, "--from", letters, "--offline") == 0
    assert checking.check(DATASETS["LETTER"], out).verdict == "equal"


def test_downloads_what_is_missing(letters, tmp_path, monkeypatch, capsys):
    """A server is in the tests of fetch; here it is enough that the file is asked for and found."""
    content = (letters / "letter+recognition.zip").read_bytes()
    asked = []

    def fetch(url, path, sha256):
        asked.append(url)
        path.parent.mkdir(parents=True)
        path.write_bytes(content)

    monkeypatch.setattr(tables, "fetch", fetch)
    assert run("LETTER", "--out", tmp_path / "out") == 0
    assert asked == [DATASETS["LETTER"].originals[0].url]
    assert (tmp_path / "out" / "originals" / "letter+recognition.zip").is_file()


def test_offline_names_address_and_folder(tmp_path, capsys):
    assert run("MSD", "LETTER", "--out", tmp_path, "--offline") == 1
    message = capsys.readouterr().err
    assert DATASETS["MSD"].originals[0].url in message
    assert str(tmp_path / "originals") in message
    assert "not made: MSD, LETTER" in message


def test_incomplete_original_is_refused(letters, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(DATASETS, "LETTER", replace(DATASETS["LETTER"], paper_rows=60))
    assert run("LETTER", "--out", tmp_path / "out", "--from", letters, "--offline") == 1
    assert "is the original complete?" in capsys.readouterr().err
    assert not (tmp_path / "out" / "letter.npz").exists()


def test_other_version_is_noted(letters, tmp_path, monkeypatch, capsys):
    original = Original("letter+recognition.zip", "https://example.org", "00")
    monkeypatch.setitem(DATASETS, "LETTER", replace(DATASETS["LETTER"], originals=(original,)))
    assert run("LETTER", "--out", tmp_path / "out", "--from", letters, "--offline") == 0
    assert "another checksum" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [[], ["LETTER"], ["--all"], ["NOPE", "--out", "x"], ["LETTER", "--out", "x", "--from", "nowhere"]],
)
def test_usage(arguments, capsys):
    with pytest.raises(SystemExit):
        run(*arguments)
    assert "error:" in capsys.readouterr().err


def test_list(capsys):
    assert run("--list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 23


def test_a_failed_write_leaves_the_old_table(tmp_path, monkeypatch):
    table = Table(np.ones((2, 1)), np.arange(2.0), ["a"], "none")
    save(table, tmp_path / "t.npz", "here")
    before = (tmp_path / "t.npz").read_bytes()

    def full(*arguments, **arrays):
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="no space"):
        save(table, tmp_path / "t.npz", "there")
    assert (tmp_path / "t.npz").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def degrade(**changes):
    """A LETTER table with some arrays changed or, if None, left out."""
    arrays = {
        "X": np.zeros((20_000, 16), dtype=np.uint8),
        "y": np.arange(20_000) % 26,
        "feature_names": np.array([f"x{i}" for i in range(16)]),
        "classes": np.array([str(i) for i in range(26)]),
        **{name: np.array("text") for name in ("task", "source", "preprocessing")},
        **changes,
    }
    file = io.BytesIO()
    np.savez(file, **{name: array for name, array in arrays.items() if array is not None})
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "verdict", "reason"),
    [
        (degrade(), "other", ""),
        (None, "missing", ""),
        (b"nonsense", "wrong", "not readable"),
        (degrade()[:-100], "wrong", "not readable"),
        (degrade(source=None), "wrong", "no array source"),
        (degrade(X=np.array([{}] * 3)), "wrong", "not readable"),
        (degrade(X=np.zeros((20_000, 15))), "wrong", "15 features"),
        (degrade(X=np.zeros((100, 16)), y=np.arange(100) % 26), "wrong", "only 100 rows"),
        (degrade(X=np.zeros((20_001, 16)), y=np.arange(20_001) % 26), "wrong", "expected 20,000"),
        (degrade(y=np.arange(20_000) % 25), "wrong", "labels are not 0 to 25"),
        (degrade(X=np.full((20_000, 16), np.nan)), "wrong", "missing or infinite"),
        (degrade(classes=None), "wrong", "names of 0 classes"),
    ],
)
def test_check(tmp_path, content, verdict, reason):
    if content is not None:
        (tmp_path / "letter.npz").write_bytes(content)
    found = checking.check(DATASETS["LETTER"], tmp_path)
    assert found.verdict == verdict
    assert reason in found.reason


def test_check_fails_if_a_table_is_missing(tmp_path, capsys):
    assert run("--check", tmp_path, "LETTER") == 1
    assert "missing: not there" in capsys.readouterr().out


@pytest.mark.data
def test_check_of_the_real_tables(uci_dir, capsys):
    # the largest tables take seconds to unpack and are read by other tests
    names = [name for name in DATASETS if name not in ("COVTYPE", "GPU", "CODRNA")]
    assert run("--check", uci_dir, *names) == 0
    verdicts = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()[1 : len(names) + 1]}
    for name in names:
        assert ("partial" if DATASETS[name].partial else "reference") in verdicts[name]


@pytest.mark.data
@pytest.mark.parametrize("name", ["SATTELITE", "PHISHING", "ABALONE"])
def test_digest_of_the_real_tables(uci_dir, name):
    entry = DATASETS[name]
    with np.load(uci_dir / f"{entry.stem}.npz", allow_pickle=False) as table:
        assert content_digest(table["X"], table["y"]) == entry.digest


@pytest.mark.data
def test_phishing_from_its_arff_file(uci_dir, tmp_path):
    """The 30 raw columns of the real table, written as UCI publishes them, give the same 68 features."""
    with np.load(uci_dir / "phishing.npz", allow_pickle=False) as table:
        raw, names, y = table["raw30"], table["raw30_names"], table["y"]
    head = "".join(f"@attribute {name} {{ -1,0,1 }}\r\n" for name in [*names, "Result"])
    rows = np.column_stack([raw, 2 * y - 1]).tolist()
    body = "".join(",".join(map(str, row)) + "\r\n" for row in rows)
    (tmp_path / "Training Dataset.arff").write_text(
        f"@relation phishing\r\n{head}\r\n@data\r\n{body}", newline=""
    )
    assert run("PHISHING", "--out", tmp_path / "out", "--from", tmp_path, "--offline") == 0
    assert checking.check(DATASETS["PHISHING"], tmp_path / "out").verdict == "equal"
