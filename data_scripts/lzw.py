"""Unpack .Z files of Unix compress, in which UCI still publishes SHUTTLE; Python has no module for them."""

from __future__ import annotations

MAGIC = b"\x1f\x9d"
CLEAR = 256


def unpack_lzw(data: bytes) -> bytes:
    """The content of a .Z file.

    Codes start at 9 bits and widen as the table fills. They come in groups of eight, so that a group always
    ends on a whole byte; the rest of a group is padding when the width changes or the table is cleared.
    """
    if len(data) < 3 or data[:2] != MAGIC:
        raise EOFError("not a .Z file")
    max_bits, block_mode = data[2] & 0x1F, bool(data[2] & 0x80)
    if not 10 <= max_bits <= 16:
        raise EOFError(f"codes of {max_bits} bits in a .Z file")
    first_free = CLEAR + 1 if block_mode else CLEAR
    table: list[bytes] = [bytes([i]) for i in range(256)] + [b""] * (first_free - 256)
    width, group_start, position = 9, 24, 24
    last = b""
    out: list[bytes] = []
    while position + width <= 8 * len(data):
        start = position // 8
        code = int.from_bytes(data[start : start + 4], "little") >> position % 8 & (1 << width) - 1
        position += width
        if block_mode and code == CLEAR:
            del table[first_free:]
            position = _end_of_group(position, group_start, width)
            width, group_start, last = 9, position, b""
            continue
        if code < len(table):
            entry = table[code]
        elif code == len(table) and last:
            entry = last + last[:1]
        else:
            raise EOFError("a code points behind the table of a .Z file")
        out.append(entry)
        if last and len(table) < 1 << max_bits:
            table.append(last + entry[:1])
        last = entry
        # as in the packer, which compares its table before it adds the entry of the code just written
        if len(table) == 1 << width and width < max_bits:
            position = _end_of_group(position, group_start, width)
            width, group_start = width + 1, position
    return b"".join(out)


def _end_of_group(position: int, group_start: int, width: int) -> int:
    used = (position - group_start) % (8 * width)
    return position + (8 * width - used if used else 0)
