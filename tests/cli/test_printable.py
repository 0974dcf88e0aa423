"""Names of files cannot speak to the terminal."""

from __future__ import annotations

import os
import unicodedata

import pytest
from stub_tool import gray_photo

from facereject._cli._shared import printable

HOSTILE = "\x1b[2J\x9b31m\u202egpj.\u2066\u200f\n\r\x07\x85\u2028\u061c"


def test_no_control_character_and_no_mark_of_direction_passes():
    shown = printable("".join(map(chr, range(0x3100))))
    left = {character for character in shown if unicodedata.category(character) in ("Cc", "Zl", "Zp")}
    assert left == {"\t"}
    directions = {character for character in shown if "bidi" in unicodedata.name(character, "").lower()}
    assert directions == set()
    assert not set(shown) & set("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u061c")
    assert "ä☃" in printable("ä☃")


def test_escapes_name_the_character():
    assert printable("a\x9b\u202e\nb") == "a\\x9b\\u202e\\x0ab"
    assert printable(os.fsdecode(b"\xff.jpg")) == "\\xff.jpg"


@pytest.mark.parametrize("arguments", [["score"], ["filter", "--accepted", "good", "--move"]])
def test_hostile_names_in_a_run(stub, work, run, arguments):
    (work / "p").mkdir()
    gray_photo(work / "p" / "2.png", 200)
    (work / "p" / f"{HOSTILE}.png").write_bytes(b"no picture")
    result = run(*arguments[:1], "p", *arguments[1:], "-o", "t.csv")
    assert result.exit_code == 1
    assert "\\u202egpj" in result.stderr
    assert not set(HOSTILE.replace("\n", "")) & set(result.stderr) - set("[2J31mgpj.")
