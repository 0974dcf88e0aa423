"""Random damage to bytes: what disks, networks and enemies do to files."""

from __future__ import annotations

import random

# values that lengths, counts and offsets are set to
_EXTREMES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


def mutated(data: bytes, rng: random.Random, other: bytes = b"") -> bytes:
    """The bytes, changed in one to four places; parts of ``other`` may be spliced in."""
    for _ in range(rng.randint(1, 4)):
        data = _mutated_once(data, rng, other or data)
    return data


def flipped(data: bytes, rng: random.Random) -> bytes:
    """The bytes with one bit changed."""
    at = rng.randrange(max(1, len(data)))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :] if data else data


def _mutated_once(data: bytes, rng: random.Random, other: bytes) -> bytes:
    # most formats decide in their first bytes what the rest means
    span = min(len(data), 256) if rng.random() < 0.4 else len(data)
    start = rng.randrange(max(1, span))
    end = min(len(data), start + rng.choice([1, 2, 4, 16, 256, 4096]))
    match rng.randrange(8):
        case 0:
            return flipped(data, rng)
        case 1:
            return data[:start] + rng.randbytes(end - start) + data[end:]
        case 2:
            return data[:start]
        case 3:
            return data[:start] + data[end:]
        case 4:
            return data[:start] + data[start:end] * rng.choice([2, 3, 50]) + data[end:]
        case 5:
            size, order = rng.choice([1, 2, 4]), rng.choice(["little", "big"])
            value = rng.choice([value for value in _EXTREMES if value < 256**size])
            return data[:start] + value.to_bytes(size, order) + data[start + size :]
        case 6:
            return data[:start] + bytes(end - start) + data[end:]
        case _:
            at = rng.randrange(max(1, len(other)))
            return data[:start] + other[at : at + end - start] + data[end:]
