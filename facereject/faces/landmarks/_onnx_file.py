"""What is in an ONNX file, read from its bytes: metadata, and whether it asks for other files."""

from __future__ import annotations

from collections.abc import Iterator

# Fields of the messages of ONNX (onnx.proto) that lead to tensors: field number -> kind of message.
_INSIDE: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {},
}
_METADATA = 14
# of a tensor: key-value pairs that name another file, and where the values are (1 is outside)
_EXTERNAL, _LOCATION = 13, 14
_DEEPEST = 40


def metadata(data: bytes) -> dict[str, str]:
    """The metadata of a model; ValueError if the bytes are no ONNX file."""
    found = {}
    for number, value in _fields(memoryview(data)):
        if number == _METADATA and not isinstance(value, int):
            pair = {key: bytes(text) for key, text in _fields(value) if not isinstance(text, int)}
            found[pair.get(1, b"").decode("utf-8", "replace")] = pair.get(2, b"").decode("utf-8", "replace")
    return found


def refers_to_files(data: bytes) -> bool:
    """Whether values of a model are in other files; ValueError if the bytes are no ONNX file."""
    return _refers(memoryview(data), "model", 0)


def _refers(message: memoryview, kind: str, depth: int) -> bool:
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    inside = _INSIDE[kind]
    for number, value in _fields(message):
        if kind == "tensor" and (number == _EXTERNAL or (number == _LOCATION and value == 1)):
            return True
        if number in inside and not isinstance(value, int) and _refers(value, inside[number], depth + 1):
            return True
    return False


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Number and value of the fields of a message, in the wire format of protocol buffers."""
    position, end = 0, len(message)
    while position < end:
        key, position = _number(message, position)
        kind = key & 7
        if kind == 0:
            value, position = _number(message, position)
            yield key >> 3, value
            continue
        if kind == 2:
            size, position = _number(message, position)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise ValueError("not a file of ONNX")
        if position + size > end:
            raise ValueError("a file of ONNX that is cut off")
        yield key >> 3, message[position : position + size]
        position += size


def _number(message: memoryview, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(message):
            raise ValueError("a file of ONNX that is cut off")
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise ValueError("not a file of ONNX")
