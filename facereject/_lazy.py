"""Lazy values and lazy imports: what is not used costs nothing."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")


class Lazy(Generic[T]):
    """The result of a function without arguments, called once, when the result is first needed."""

    __slots__ = ("_value", "_work")

    def __init__(self, work: Callable[[], T]) -> None:
        self._work: Callable[[], T] | None = work
        self._value: T | None = None

    def __call__(self) -> T:
        # threads that ask at once may both do the work, with the same result
        if (work := self._work) is not None:
            self._value = work()
            # frees the inputs of the work
            self._work = None
        return cast(T, self._value)


class LazyField(Generic[T]):
    """A dataclass field that can be set to a `Lazy`; reading it gives the value.

    Parameters
    ----------
    default : T
        Default value of the field.
    """

    def __init__(self, default: T) -> None:
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, holder: object | None, owner: type | None = None) -> T:
        if holder is None:
            return self._default
        value = vars(holder)[self._name]
        if isinstance(value, Lazy):
            value = vars(holder)[self._name] = value()
        return cast(T, value)

    def __set__(self, holder: object, value: T | Lazy[T]) -> None:
        vars(holder)[self._name] = value


def worked_out(fields: dict[str, Any]) -> dict[str, Any]:
    """Replace every `Lazy` by its value, for pickling."""
    return {name: value() if isinstance(value, Lazy) else value for name, value in fields.items()}


def lazy_imports(
    package: str, homes: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make ``__getattr__`` and ``__dir__`` of a package that imports its names on first use.

    Parameters
    ----------
    package : str
        ``__name__`` of the package.
    homes : mapping of str to sequence of str
        The names of each module, whose own name is relative to the package.

    Returns
    -------
    functions : tuple (__getattr__, __dir__)
    """

    def get(name: str) -> Any:
        for home, names in homes.items():
            if name in names:
                return getattr(importlib.import_module(f"{package}.{home}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: sorted(sys.modules[package].__all__)
