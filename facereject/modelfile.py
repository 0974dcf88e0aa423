"""Model files: named arrays and a JSON header in one safetensors file; loading never runs code.

Layout: eight bytes with the header length, the safetensors header (names, dtypes, shapes and one metadata
entry ``facereject`` with our JSON), then the raw arrays. The JSON object has ``format`` (an integer version),
``kind`` (what the arrays mean), ``sha256`` and the writer's own entries. ``sha256`` is the digest of the
whole file with a placeholder in its place. It detects every accidental change, but does not prevent forgery:
everybody can compute it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from facereject._files import InputError, write_whole

#: files of format 1 have no digest
FORMAT_VERSION = 2

_KEY = "facereject"
_NO_DIGEST = "(facereject: in place of the digest while the digest is made)..."
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

#: dtype and shape that a reader expects of an array; None in the shape stands for any length
ArraySpec = tuple[str, tuple[int | None, ...]]


class ModelFileError(InputError):
    """A model file cannot be used; the message names the file and the reason."""


class ModelFileDamagedError(ModelFileError):
    """The file is no model file of this package, or truncated, or changed."""


class ModelFileVersionError(ModelFileError):
    """The file was written by a newer version of the package."""


class ModelFileContentError(ModelFileError):
    """The file is intact, but its header or arrays are not those of the requested model."""


class UncheckedModelFileWarning(UserWarning):
    """The file has format 1, without a digest: damage would go unnoticed."""


class ModelFile(NamedTuple):
    """The content of a model file.

    Parameters
    ----------
    header : dict
        The JSON header, without the digest.
    arrays : dict of str to ndarray
        The arrays by name.

    See Also
    --------
    read_model : Reads one.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.modelfile import ModelFile
    >>> ModelFile({"kind": "example"}, {"weights": np.zeros(3)}).header["kind"]
    'example'
    """

    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def write_model(
    path: str | os.PathLike[str], kind: str, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a model file atomically: readers see the old file or the new one, never a part.

    Equal content gives equal bytes.

    Parameters
    ----------
    path : path
        The file to write.
    kind : str
        What the arrays mean; `read_model` asks for it.
    header : mapping
        Further entries of the header, plain JSON.
    arrays : mapping of str to ndarray
        Finite numbers.

    Raises
    ------
    ModelFileError
        If the header is not plain JSON or an array has values that are not finite: a file that cannot be read
        is never written.

    See Also
    --------
    read_model : Reads the file.
    facereject.FaceRejector.save : Writes a rejector this way.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.modelfile import read_model, write_model
    >>> write_model("mine.safetensors", "example", {"author": "me"}, {"weights": np.ones(3)})
    >>> model = read_model("mine.safetensors", "example", {"weights": ("float64", (None,))})
    >>> model.header["author"], model.arrays["weights"]
    ('me', array([1., 1., 1.]))
    """
    path = Path(path)
    content = {"format": FORMAT_VERSION, "kind": kind, **header, "sha256": _NO_DIGEST}
    for name, array in arrays.items():
        _check_finite(path, name, array)
    try:
        text = json.dumps(content, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ModelFileContentError(f"{path}: the header is not plain JSON: {error}") from None
    packed = safetensors.numpy.save(
        {name: np.ascontiguousarray(array) for name, array in sorted(arrays.items())}, metadata={_KEY: text}
    )
    signed = _with_digest(packed, _NO_DIGEST, hashlib.sha256(packed).hexdigest())
    if signed is None:
        raise ModelFileContentError(f"{path}: the header has {_NO_DIGEST!r}, the placeholder of the digest")
    write_whole(path, signed)


def read_model(
    path: str | os.PathLike[str],
    kind: str,
    arrays: Mapping[str, ArraySpec] | Callable[[dict[str, Any]], Mapping[str, ArraySpec]] | None,
) -> ModelFile:
    """Read and check a model file.

    Parameters
    ----------
    path : path
        The file.
    kind : str
        The kind of model the caller can use.
    arrays : mapping of name to (dtype, shape), or a function from the header to one, or None
        The arrays that the file must have, and no others; None in a shape stands for any length. With None
        any arrays are accepted.

    Returns
    -------
    model : ModelFile
        Header and arrays.

    Raises
    ------
    ModelFileError
        If the file is damaged, too new, or not of this kind. A missing file raises FileNotFoundError.

    Warns
    -----
    UncheckedModelFileWarning
        If the file has format 1, which has no digest. A later version will no longer read such files.

    See Also
    --------
    write_model : Writes a file, with an example.
    facereject.FaceRejector.load : Reads a rejector this way.

    Examples
    --------
    >>> from facereject.modelfile import ModelFileError, read_model
    >>> with open("broken.safetensors", "wb") as file:
    ...     _ = file.write(b"not a model")
    >>> try:
    ...     read_model("broken.safetensors", "example", None)
    ... except ModelFileError as error:
    ...     print("rejected")
    rejected
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
    specs = arrays(header) if callable(arrays) else arrays if arrays is not None else {}
    if arrays is not None and (unknown := sorted(set(loaded) - set(specs))):
        raise ModelFileContentError(f"{path}: array {unknown[0]!r} does not belong to a model of this kind")
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
    if os.path.isdir(path):
        raise ModelFileDamagedError(f"{path}: is a folder, not a model file")
    # without O_NONBLOCK a pipe would wait for its other end
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ModelFileDamagedError(f"{path}: not a regular file, so not a model file")
        if status.st_size > _MAX_FILE_BYTES:
            raise ModelFileDamagedError(
                f"{path}: {status.st_size} bytes is larger than any model of this package"
            )
        return file.read(status.st_size)


def _read_header(path: Path, data: bytes) -> dict[str, Any]:
    length = int.from_bytes(data[:8], "little")
    # checked before parsing: a hostile length must not cost memory
    if len(data) < 8 or length > len(data) - 8 or length > _MAX_HEADER_BYTES:
        raise ModelFileDamagedError(f"{path}: truncated, or not a facereject model file")
    try:
        outer = json.loads(data[8 : 8 + length], object_pairs_hook=_once_each)
        text = outer["__metadata__"][_KEY]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ModelFileDamagedError(f"{path}: not a facereject model file") from None
    try:
        header = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_once_each)
    except (ValueError, TypeError, RecursionError) as error:
        raise ModelFileDamagedError(f"{path}: the header is not plain JSON ({error})") from None
    if not isinstance(header, dict) or type(header.get("format")) is not int or header["format"] < 1:
        raise ModelFileDamagedError(f"{path}: the header names no format version")
    if header["format"] > FORMAT_VERSION:
        raise ModelFileVersionError(
            f"{path}: format {header['format']} is newer than the {FORMAT_VERSION} this version reads; "
            "upgrade with `pip install -U facereject`"
        )
    _check_digest(path, data, header)
    return header


def _check_digest(path: Path, data: bytes, header: dict[str, Any]) -> None:
    digest = header.pop("sha256", None)
    if digest is None and header["format"] == 1:
        warnings.warn(
            f"{path}: written by an older version without a checksum, so damage would go unnoticed; "
            "load and save it once to add one",
            UncheckedModelFileWarning,
            stacklevel=4,
        )
        return
    unsigned = _with_digest(data, str(digest), _NO_DIGEST)
    if unsigned is None:
        raise ModelFileDamagedError(f"{path}: the checksum is missing")
    if hashlib.sha256(unsigned).hexdigest() != digest:
        raise ModelFileDamagedError(f"{path}: damaged model file (wrong checksum)")


def _with_digest(data: bytes, old: str, new: str) -> bytes | None:
    """Replace the digest in the header; None if the old one is not there exactly once."""
    end = 8 + int.from_bytes(data[:8], "little")
    if len(old) != len(new) or data.count(old.encode(), 0, end) != 1:
        return None
    return data[:end].replace(old.encode(), new.encode()) + data[end:]


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is given twice")
    return found


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


def _check_finite(path: Path, name: str, array: NDArray[Any]) -> None:
    if array.dtype.kind not in "fiu":
        raise ModelFileContentError(f"{path}: array {name!r} has dtype {array.dtype}, expected numbers")
    if array.dtype.kind == "f" and array.size and not math.isfinite(float(np.abs(array).max())):
        raise ModelFileContentError(f"{path}: array {name!r} has values that are not finite")
