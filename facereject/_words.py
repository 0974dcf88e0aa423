"""Numbers in sentences: "1 face", "2,000 faces", "<1%"."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """Format a number with its noun; the plural is the noun with an s unless given."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def percent(part: float, whole: float, digits: int = 0) -> str:
    """Format a share in percent; "100%" means all and "0%" none, otherwise ">99%" and "<1%"."""
    share = part / whole
    text = f"{share:.{digits}%}"
    step = 10.0**-digits
    if share < 1 and text == f"{1:.{digits}%}":
        return f">{100 - step:.{digits}f}%"
    if share > 0 and text == f"{0:.{digits}%}":
        return f"<{step:.{digits}f}%"
    return text
