"""One safe file per model: a safetensors container with a JSON header; loading never runs code.

Layout: eight bytes with the header length, the safetensors header (names, dtypes, shapes and one metadata
entry ``facereject`` with our JSON), then the raw arrays. The JSON object carries ``format`` (an integer
version), ``kind`` (what the arrays mean) and whatever the writer adds.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from facereject._files import write_whole

FORMAT_VERSION = 1

_KEY = "facereject"
_MAX_FILE_BYTES = 1 << 30
_MAX_HEADER_BYTES = 8 << 20

# safetensors reports unknown dtypes by KeyError, missing numpy types by AttributeError and wrong lengths by
# ValueError
_SAFETENSORS_ERRORS = (
    safetensors.SafetensorError,
    ValueError,
    TypeError,
    KeyError,
    OverflowError,
    AttributeError,
)

#: what a reader expects of one array: dtype name and shape, where None stands for any length
ArraySpec = tuple[str, tuple[int | None, ...]]


class ModelFileError(ValueError):
    """A model file cannot be used; the message names the file and the reason."""


class ModelFileDamagedError(ModelFileError):
    """Not a model file of this package, or truncated or changed on the way."""


class ModelFileVersionError(ModelFileError):
    """Written by a newer version of the package."""


class ModelFileContentError(ModelFileError):
    """A sound file whose header or arrays are not those of the model asked for."""


class ModelFile(NamedTuple):
    """What a model file holds: the JSON header and the named arrays."""

    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def write_model(
    path: str | os.PathLike[str], kind: str, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a model file in one step: readers see the old file or the new one, never a part.

    Equal content gives equal bytes. Raises ModelFileContentError for arrays that are not finite numbers,
    so that a file that cannot be loaded is never written.
    """
    path = Path(path)
    content = {"format": FORMAT_VERSION, "kind": kind, **header}
    for name, array in arrays.items():
        _check_finite(path, name, array)
    try:
        text = json.dumps(content, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ModelFileContentError(f"{path}: the header is not plain JSON: {error}") from None
    packed = safetensors.numpy.save(
        {name: np.ascontiguousarray(array) for name, array in sorted(arrays.items())}, metadata={_KEY: text}
    )
    write_whole(path, packed)


def read_model(
    path: str | os.PathLike[str],
    kind: str,
    arrays: Mapping[str, ArraySpec] | Callable[[dict[str, Any]], Mapping[str, ArraySpec]],
) -> ModelFile:
    """Read and check a model file.

    Parameters
    ----------
    path : path
        The file.
    kind : str
        The kind of model the caller can use.
    arrays : mapping of name to (dtype, shape), or a function from the header to one
        What must be in it; None in a shape stands for any length. Further arrays are kept, if finite.

    Raises
    ------
    ModelFileError
        One of its three subclasses says whether the file is damaged, too new, or another model's. A missing
        file raises FileNotFoundError.
    """
    path = Path(path)
    data = _read_bytes(path)
    header = _read_header(path, data)
    if header.get("kind") != kind:
        raise ModelFileContentError(f"{path}: is a model of kind {header.get('kind')!r}, not {kind!r}")
    try:
        loaded = safetensors.numpy.load(data)
    except _SAFETENSORS_ERRORS as error:
        raise ModelFileDamagedError(f"{path}: damaged model file ({error})") from None
    specs = arrays(header) if callable(arrays) else arrays
    for name, (dtype, shape) in specs.items():
        if name not in loaded:
            raise ModelFileContentError(f"{path}: array {name!r} is missing")
        found = loaded[name]
        fits = found.ndim == len(shape) and all(
            want is None or have == want for have, want in zip(found.shape, shape, strict=True)
        )
        if found.dtype != np.dtype(dtype) or not fits:
            raise ModelFileContentError(
                f"{path}: array {name!r} is {found.dtype} {found.shape}, expected {dtype} {shape}"
            )
    for name, array in loaded.items():
        _check_finite(path, name, array)
    return ModelFile(header, loaded)


def _read_bytes(path: Path) -> bytes:
    if path.is_dir():
        raise ModelFileDamagedError(f"{path}: is a folder, not a model file")
    size = path.stat().st_size
    if size > _MAX_FILE_BYTES:
        raise ModelFileDamagedError(f"{path}: {size} bytes is larger than any model of this package")
    return path.read_bytes()


def _read_header(path: Path, data: bytes) -> dict[str, Any]:
    length = int.from_bytes(data[:8], "little")
    # checked before anything is parsed: a hostile length must not cost memory
    if len(data) < 8 or length > len(data) - 8 or length > _MAX_HEADER_BYTES:
        raise ModelFileDamagedError(f"{path}: truncated, or not a facereject model file")
    try:
        outer = json.loads(data[8 : 8 + length])
        text = outer["__metadata__"][_KEY]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ModelFileDamagedError(f"{path}: not a facereject model file") from None
    try:
        header = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, TypeError, RecursionError) as error:
        raise ModelFileDamagedError(f"{path}: the header is not plain JSON ({error})") from None
    if not isinstance(header, dict) or type(header.get("format")) is not int or header["format"] < 1:
        raise ModelFileDamagedError(f"{path}: the header names no format version")
    if header["format"] > FORMAT_VERSION:
        raise ModelFileVersionError(
            f"{path}: format {header['format']} is newer than the {FORMAT_VERSION} this version reads; "
            "upgrade with `pip install -U facereject`"
        )
    return header


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


def _check_finite(path: Path, name: str, array: NDArray[Any]) -> None:
    if array.dtype.kind not in "fiu":
        raise ModelFileContentError(f"{path}: array {name!r} has dtype {array.dtype}, expected numbers")
    if array.dtype.kind == "f" and array.size and not math.isfinite(float(np.abs(array).max())):
        raise ModelFileContentError(f"{path}: array {name!r} holds values that are not finite")
