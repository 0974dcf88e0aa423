"""Values that are worked out when they are first read: what nobody asks for costs nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")


class Lazy(Generic[T]):
    """The result of a function of no arguments, which is called once, when the result is first needed."""

    __slots__ = ("_value", "_work")

    def __init__(self, work: Callable[[], T]) -> None:
        self._work: Callable[[], T] | None = work
        self._value: T | None = None

    def __call__(self) -> T:
        # threads that ask at once may both do the work, with the same result
        if (work := self._work) is not None:
            self._value = work()
            # what the work was done with need not be kept
            self._work = None
        return cast(T, self._value)


class LazyField(Generic[T]):
    """A field of a dataclass that may be given as a `Lazy`; who reads it gets the value.

    Parameters
    ----------
    default : T
        The value of the field where none is given.
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
    """The same fields, with the values of all that is lazy: for pickles."""
    return {name: value() if isinstance(value, Lazy) else value for name, value in fields.items()}
