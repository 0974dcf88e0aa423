"""A small packer of .Z files, since no tool that writes them can be counted on."""

from __future__ import annotations


def pack_lzw(data: bytes, max_bits: int = 16, clear_every: int = 0) -> bytes:
    """Pack as Unix compress does; ``clear_every`` > 0 empties the table after that many codes."""
    table = {bytes([i]): i for i in range(256)}
    free, width, count, written = 257, 9, 0, 0
    bits, out = 0, bytearray(b"\x1f\x9d" + bytes([0x80 | max_bits]))

    def write(code: int) -> None:
        nonlocal bits, count
        bits |= code << (count * width)
        count += 1
        if count == 8:
            flush()

    def flush() -> None:
        nonlocal bits, count
        if count:
            out.extend(bits.to_bytes(width, "little"))
        bits, count = 0, 0

    def widen(new: int) -> None:
        nonlocal width
        flush()
        width = new

    word = b""
    for byte in data:
        longer = word + bytes([byte])
        if longer in table:
            word = longer
            continue
        write(table[word])
        written += 1
        if free > (1 << width) - 1 and width < max_bits:
            widen(width + 1)
        if free < 1 << max_bits:
            table[longer] = free
            free += 1
        word = bytes([byte])
        if clear_every and written % clear_every == 0:
            write(256)
            widen(9)
            table = {bytes([i]): i for i in range(256)}
            free = 257
    if word:
        write(table[word])
    if count:
        out.extend(bits.to_bytes((count * width + 7) // 8, "little"))
    return bytes(out)
