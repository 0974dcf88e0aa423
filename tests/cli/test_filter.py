"""facereject filter: targets, frame rules, sorted files, and repairs after a crash."""

from __future__ import annotations

import csv
import os
import re
import time
from pathlib import Path

import pytest
import skimage.data
from PIL import Image
from stub_tool import start_tool

from facereject._cli import _rows
from facereject.faces import FaceRejector
from facereject.outputs import SortedFiles
from facereject.pipeline.store import Store


def _files(folder) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*") if not path.is_dir())


def _decisions(path) -> dict[str, str]:
    with open(path, newline="") as file:
        return {row["source"]: row["accepted"] for row in csv.DictReader(file)}


@pytest.mark.parametrize("mode", ["copy", "link", "move"])
def test_files_are_sorted(stub, photos, run, mode):
    (photos / "broken.png").write_bytes(b"")
    options = [] if mode == "copy" else [f"--{mode}"]
    result = run("filter", "photos", "--accepted", "good", "--rejected", "bad", "-o", "t.csv", *options)
    assert result.exit_code == 1
    assert _files("good") == ["2.png", "sub/2.png"]
    assert _files("bad") == ["0.png", "1.png"]
    assert _files("photos") == (
        ["broken.png"] if mode == "move" else ["0.png", "1.png", "2.png"] + ["broken.png", "sub/2.png"]
    )
    assert Path("good/sub/2.png").is_symlink() == (mode == "link")
    assert len(_decisions("t.csv")) == 5
    verb = {"copy": "copied", "link": "linked", "move": "moved"}[mode]
    assert f"2 files {verb} to good; 2 files {verb} to bad" in result.stderr
    Image.open("good/sub/2.png").load()


def test_moving_after_linking_keeps_the_originals(stub, photos, run):
    arguments = ["filter", "photos", "--accepted", "good", "--rejected", "bad"]
    assert run(*arguments, "--link").exit_code == 0
    before = {name: (photos / name).read_bytes() for name in _files("photos")}
    result = run(*arguments, "--move")
    assert result.exit_code == 1
    assert "is a link, no copy; remove it first" in result.stderr
    assert {name: (photos / name).read_bytes() for name in _files("photos")} == before


def test_another_target_leaves_no_file_in_both_folders(stub, photos, run):
    arguments = ["filter", "photos", "--accepted", "good", "--rejected", "bad"]
    run(*arguments)
    result = run(*arguments, "--threshold", "210")
    assert _files("good") == ["sub/2.png"]
    assert _files("bad") == ["0.png", "1.png", "2.png"]
    assert "0 files copied to good; 1 file copied to bad; 3 files in place already" in result.stderr
    assert "1 file taken out of the other folder" in result.stderr


def test_threshold_decides(stub, photos, run):
    assert run("filter", "photos", "--threshold", "210", "-o", "t.csv").exit_code == 0
    assert [name for name, accepted in _decisions("t.csv").items() if accepted == "true"] == [
        "photos/sub/2.png"
    ]


def test_a_finished_table_of_another_target_is_not_completed(stub, photos, run):
    assert run("filter", "photos", "--threshold", "210", "-o", "t.csv").exit_code == 0
    before = Path("t.csv").read_bytes()
    record = Path("t.csv.run").read_bytes()
    reasons = ("(limit: 210.0 then, 40.0 now)", "made with another model or target (see photos/1.png)")
    for reason in reasons:
        result = run("filter", "photos", "--threshold", "40", "-o", "t.csv", "--resume")
        assert result.exit_code == 2, (reason, result.stderr)
        assert reason in result.stderr
        assert "--overwrite" in result.stderr
        assert Path("t.csv").read_bytes() == before
        # without its record, the rows tell
        Path("t.csv.run").unlink(missing_ok=True)
        assert sorted(os.listdir()) == ["photos", "t.csv"]
    Path("t.csv.run").write_bytes(record)
    assert run("filter", "photos", "--threshold", "210", "-o", "t.csv", "--resume").exit_code == 0


def test_targets_reach_the_model(work, run):
    Image.fromarray(skimage.data.astronaut()[:300, 100:400]).save("face.png")
    rejector = FaceRejector.pretrained()
    (face,) = rejector("face.png")
    for option, value in (("max-error", 2.5), ("coverage", 0.05), ("cost", 1.0), ("threshold", -9.0)):
        result = run("filter", "face.png", f"--{option}", value, "-o", "-", "--quiet")
        assert result.exit_code == 0
        (row,) = csv.DictReader(result.stdout.splitlines())
        wanted = rejector.with_target(**{option.replace("-", "_"): value}).selector.threshold_
        assert row["accepted"] == ("true" if face.uncertainty <= wanted else "false")
        assert row["reason"] == ("" if row["accepted"] == "true" else "uncertain")
        assert float(row["uncertainty"]) == pytest.approx(face.uncertainty, abs=1e-5)


def test_frame_rules(stub, photos, run):
    run("filter", "photos", "--frame-rule", "largest", "--accepted", "good")
    assert _files("good") == ["2.png", "sub/2.png"]
    assert run("filter", "photos", "--frame-rule", "most", "-o", "t.csv").exit_code == 2


def test_sorting_below_the_input_folder(stub, photos, run):
    for _ in range(2):
        result = run("filter", "photos", "--accepted", "photos/good", "-o", "t.csv")
        assert result.exit_code == 0
        assert _files("photos/good") == ["2.png", "sub/2.png"]
        assert len(_decisions("t.csv")) == 4


def test_other_files_are_kept(stub, photos, run):
    Path("good").mkdir()
    Path("good/2.png").write_text("precious")
    result = run("filter", "photos", "--accepted", "good", "--move", "-o", "t.csv")
    assert result.exit_code == 1
    assert "1 file could not be placed:" in result.stderr
    assert "exists and is another file" in result.stderr
    assert Path("good/2.png").read_text() == "precious"
    assert (photos / "2.png").exists()
    assert "run the same command with --resume" in result.stderr
    Path("good/2.png").unlink()
    result = run("filter", "photos", "--accepted", "good", "--move", "-o", "t.csv", "--resume")
    assert result.exit_code == 0
    assert _files("good") == ["2.png", "sub/2.png"]
    assert not (photos / "2.png").exists()


def test_wrong_usage_is_one_sentence(stub, photos, run):
    cases = [
        (["--coverage", "0.9", "--cost", "5", "-o", "t.csv"], "--coverage and --cost exclude each other"),
        (["--accepted", "a", "--link", "--move"], "--link and --move exclude each other"),
        (["--move", "-o", "t.csv"], "--move needs --accepted or --rejected"),
        (["--accepted", "x", "--rejected", "x/y"], "overlap"),
        (["--accepted", "photos/1.png"], "this is a file"),
        (["--accepted", "photos/1.png/good"], "1.png is a file"),
        (["--accepted", "photos"], "is in the folder for sorted files"),
        (["--accepted", "a", "--video-share", "2"], "--video-share"),
        (["--accepted", "a", "--resume"], "--resume needs a table file"),
    ]
    for arguments, words in cases:
        result = run("filter", "photos", *arguments)
        assert result.exit_code == 2, arguments
        assert words in result.stderr
        assert len(result.stderr.splitlines()) == 1
    assert sorted(os.listdir()) == ["photos"]


@pytest.mark.parametrize("option", ["--accepted", "--rejected", "--crops", "--annotated", "--save"])
def test_a_folder_that_may_not_be_written_to_is_told_before_the_work(stub, photos, run, monkeypatch, option):
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    result = run("filter", "photos", option, "new/folder")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"{option} new/folder: nothing may be written to the folder ")
    assert sorted(os.listdir()) == ["photos"]


def test_without_any_output_a_terminal_shows_lines(stub, photos, run, monkeypatch):
    monkeypatch.setattr(_rows, "default_output", lambda: None)
    result = run("filter", "photos")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert len(lines) == 4
    assert any("2.png: accepted, expected error" in line for line in lines)
    assert any("rejected" in line for line in lines)
    assert sorted(os.listdir()) == ["photos"]


def test_without_any_output_a_pipe_gets_the_table(stub, photos, run):
    result = run("filter", "photos")
    assert result.exit_code == 0
    assert result.stdout.startswith("source,frame,")
    assert len(result.stdout.splitlines()) == 5


def test_bad_targets(photos, run):
    result = run("filter", "photos", "--coverage", "3", "-o", "t.csv")
    assert result.exit_code == 2
    assert "--coverage 3: a share of the faces up to 1 is meant; for 3 % write 0.03" in result.stderr
    result = run("filter", "photos", "--coverage", "-1", "-o", "t.csv")
    assert result.exit_code == 2
    assert result.stderr.startswith("--coverage: coverage must be")


def test_a_target_out_of_reach_is_told_with_one_within(photos, run):
    result = run("filter", "photos", "--max-error", "0.01", "-o", "t.csv")
    assert result.exit_code == 2
    (lowest,) = re.findall(r"([\d.]+) % is the lowest", result.stderr)
    assert run("filter", "photos", "--max-error", lowest, "-o", "t.csv").exit_code == 0
    below = str(float(lowest) - 0.02)
    assert run("filter", "photos", "--max-error", below, "-o", "t.csv", "--overwrite").exit_code == 2


def test_crash_between_row_and_move_is_repaired(stub, photos, run, monkeypatch):
    arguments = ["filter", "photos", "--accepted", "good", "--rejected", "bad", "--move", "-o", "t.csv"]
    placed = []

    def dies(self, **options):
        placed.append(self)
        if len(placed) == 2:
            raise KeyboardInterrupt
        real(self, **options)

    real = SortedFiles.end
    monkeypatch.setattr(SortedFiles, "end", dies)
    assert run(*arguments).exit_code == 130
    assert len(_files("photos")) < 4
    monkeypatch.setattr(SortedFiles, "end", real)
    assert run(*arguments).exit_code == 2
    resumed = run(*arguments, "--resume")
    assert resumed.exit_code == 0
    assert _files("photos") == []
    assert _files("good") == ["2.png", "sub/2.png"]
    assert _files("bad") == ["0.png", "1.png"]
    assert len(_decisions("t.csv")) == 4


def test_everything_was_moved_before_the_end(stub, photos, run, monkeypatch):
    arguments = ["filter", "photos", "--accepted", "good", "--rejected", "bad", "--move", "-o", "t.csv"]
    with monkeypatch.context() as patch:
        patch.setattr("facereject.pipeline.store.Store.finish", _interrupt)
        assert run(*arguments).exit_code == 130
    assert _files("photos") == []
    # the folder is empty now, yet the table is to be finished
    resumed = run(*arguments, "--resume")
    assert resumed.exit_code == 0
    assert len(_decisions("t.csv")) == 4
    assert run("filter", "elsewhere", *arguments[2:], "--overwrite").exit_code == 2


def _interrupt(self):
    raise KeyboardInterrupt


def test_kill_while_moving(stub, many, work, run):
    run("filter", "many", "-o", "whole.csv")
    arguments = ["filter", "many", "--accepted", "good", "--rejected", "bad", "--move", "-o", "t.csv"]
    with start_tool(arguments, work) as process:
        while process.poll() is None and len(_files("many")) == 150:
            time.sleep(0.001)
        process.kill()
        process.communicate()
    assert len(_files("many")) < 150
    resumed = run(*arguments, "--resume")
    assert resumed.exit_code == 0
    decisions = _decisions("t.csv")
    assert sorted(decisions) == sorted(_decisions("whole.csv"))
    assert decisions == _decisions("whole.csv")
    assert _files("many") == []
    accepted = sorted(
        name.removeprefix("many/") for name, decision in decisions.items() if decision == "true"
    )
    assert _files("good") == accepted
    assert len(_files("bad")) == 150 - len(accepted)


def test_help_has_examples(run):
    result = run("filter", "--help")
    for words in ("Examples", "--max-error", "--coverage", "--cost", "--threshold", "--link", "--move"):
        assert words in result.stdout


def test_the_best_of_this_batch(stub, photos, run):
    arguments = ["filter", "photos", "-o", "t.csv", "--accepted", "good"]
    assert run(*arguments, "--keep-best", "1").exit_code == 0
    assert _files("good") == ["sub/2.png"]
    result = run(*arguments, "--keep-best", "60%", "--resume")
    assert _files("good") == ["2.png", "sub/2.png"]
    assert "3 faces, 2 accepted (66.7%)" in result.stderr
    assert "Accepted: the 2 most certain faces of this batch, in 2 files" in result.stderr
    result = run(*arguments, "--keep-best-photos", "1", "--resume")
    assert "Accepted: the most certain photo or frame of this batch, in 1 file" in result.stderr
    shown = run("filter", "photos", "--keep-best", "0.3", "-o", "-").stdout
    assert [line.split(",")[0] for line in shown.splitlines() if ",true," in line] == ["photos/sub/2.png"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--keep-best", "most"], "--keep-best must be a share such as 0.5"),
        (["--keep-best", "0"], "--keep-best must be a share"),
        (["--keep-best", "1.5"], "--keep-best must be a share"),
        (["--keep-best", "1", "--cost", "3"], "--cost and --keep-best exclude each other"),
        (["--keep-best", "1", "--save", "v.mp4"], "--keep-best excludes saved videos"),
        (["--keep-best-photos", "few"], "--keep-best-photos must be a share such as 0.5 or 50%, or a number"),
        (["--keep-best", "1", "--keep-best-photos", "1"], "--keep-best and --keep-best-photos exclude"),
        (["--columns", "shrot", "-o", "t.csv"], "--columns: there is no column 'shrot'"),
    ],
)
def test_what_does_not_go_with_the_best(stub, photos, run, options, message):
    result = run("filter", "photos", *options)
    assert result.exit_code == 2
    assert message in result.stderr


def test_coverage_is_said_to_hold_for_other_faces(stub, photos, run):
    result = run("filter", "photos", "-o", "t.csv", "--coverage", "0.5")
    assert "faces like those the model was calibrated on" in result.stderr
    assert "--keep-best 0.5 accepts that share of this one" in result.stderr


def test_heads_turned_beyond_a_limit_are_rejected(work, run):
    Image.fromarray(skimage.data.astronaut()[:300, 60:400]).save("a.png")
    reasons = []
    for options in ([], ["--max-roll", "20", "--max-yaw", "20"], ["--max-roll", "0.5"]):
        result = run("filter", "a.png", *options, "-o", "t.csv", "--overwrite")
        assert result.exit_code == 0, result.stderr
        with open("t.csv", newline="") as file:
            (row,) = csv.DictReader(file)
        assert abs(float(row["roll"])) > 0.5
        reasons.append((row["accepted"], row["reason"]))
    assert reasons == [("true", ""), ("true", ""), ("false", "turned")]
    result = run("filter", "a.png", "--max-pitch", "200")
    assert result.exit_code == 2
    assert "--max-pitch must be an angle from 0 to 180 degrees, got 200" in result.stderr


@pytest.mark.parametrize("what", ["link", "file"])
def test_a_photo_that_is_exchanged_during_the_run_is_not_placed(stub, photos, run, monkeypatch, what):
    """Between reading it and noting that it was read."""
    Path("secret.txt").write_text("secret")
    os.utime("secret.txt", (1, 1))
    end_input = Store.end_input

    def late(self, path, *more):
        if path == "photos/2.png":
            os.unlink(path)
            if what == "link":
                os.symlink(os.path.abspath("secret.txt"), path)
            else:
                os.rename("secret.txt", path)
        end_input(self, path, *more)

    monkeypatch.setattr(Store, "end_input", late)
    result = run("filter", "photos", "--accepted", "good", "--rejected", "bad", "-o", "t.csv")
    assert result.exit_code == 1
    assert "1 file could not be placed" in result.stderr
    assert _files("good") == ["sub/2.png"]
    assert _files("bad") == ["0.png", "1.png"]


def test_a_table_filtered_anew_says_what_is_true_of_it(work, run):
    """No cut-off that nothing meets, no count of faces as the reason why they were not compared."""
    Image.fromarray(skimage.data.astronaut()[:300, 60:400]).save("a.png")
    for k in range(1, 45):
        os.link("a.png", f"a{k}.png")
    assert run("score", "*.png", "-o", "t.csv").exit_code == 0
    result = run("filter", "t.csv", "--max-expected-error", "0.1", "-o", "new.csv")
    assert "45 faces, 0 accepted" in result.stderr
    assert "Accepted up to" not in result.stderr
    assert "that takes their images, not a table" in result.stderr
    assert "Try a higher --max-expected-error, or --keep-best" in result.stderr


@pytest.mark.parametrize("given", [["assess", "faces.json", "--images", "."], ["filter", "faces.csv"]])
def test_weights_of_a_detector_are_not_needed_where_none_runs(work, run, monkeypatch, given):
    Image.fromarray(skimage.data.astronaut()[:300, 60:400]).save("a.png")
    assert run("filter", "a.png", "-o", "faces.csv", "--coco", "faces.json", "-q").exit_code == 0
    monkeypatch.setenv("FACEREJECT_MODELS", str(work / "empty"))
    result = run(*given, "-o", "new.csv")
    assert result.exit_code == 0, result.output
    assert "Warning" not in result.stderr
    assert "1 face, 1 accepted" in result.stderr


def test_what_is_no_table_and_what_is_only_one_of_several_inputs(stub, photos, run):
    Path("other.csv").write_text("a,b\n1,2\n")
    result = run("filter", "other.csv", "-o", "new.csv")
    assert result.exit_code == 2
    assert result.stderr.startswith("other.csv: not a table of facereject, its columns differ")
    assert run("score", "photos", "-o", "t.csv").exit_code == 0
    result = run("filter", "t.csv", "photos", "-o", "new.csv")
    assert result.exit_code == 2
    assert "t.csv: a table has to be the only input" in result.stderr
    result = run("score", "t.csv", "-o", "new.csv")
    assert result.exit_code == 2
    assert "a table cannot be scored" in result.stderr
    assert not Path("new.csv").exists()


def test_a_detector_that_is_named_is_checked_where_none_is_used(work, run):
    Image.fromarray(skimage.data.astronaut()[:300, 60:400]).save("a.png")
    assert run("score", "a.png", "-o", "t.csv", "-q").exit_code == 0
    result = run("filter", "t.csv", "--detector", "nonsense")
    assert result.exit_code == 2
    assert "no detector is registered as 'nonsense'" in result.stderr


def test_photos_that_a_table_no_longer_finds(work, run):
    os.mkdir("photos")
    Image.fromarray(skimage.data.astronaut()[:300, 60:400]).save("photos/a.png")
    assert run("score", "photos", "-o", "t.csv").exit_code == 0
    os.rename("photos", "moved")
    result = run("filter", "t.csv", "--accepted", "good", "-o", "new.csv")
    assert result.exit_code == 1
    assert "run the same command again. Names start from the current folder." in result.stderr
    assert "--resume" not in result.stderr
    os.rename("moved", "photos")
    assert run("filter", "t.csv", "--accepted", "good", "-o", "new.csv").exit_code == 0
    assert _files("good") == ["a.png"]


def test_the_mean_of_a_resumed_run_is_said_to_be_its_own(work, run):
    Image.fromarray(skimage.data.astronaut()[:300, 60:400]).save("a.png")
    result = run("filter", "a.png", "-o", "t.csv")
    assert "expected mean error of the accepted faces" in result.stderr
    os.link("a.png", "b.png")
    result = run("filter", "*.png", "-o", "t.csv", "--resume")
    assert "2 faces, 2 accepted" in result.stderr
    assert "expected mean error of the faces that this run accepted" in result.stderr
