"""What detectors and landmark predictors may declare, and the registries that know them by name.

Everything here is optional for a plug-in:

``color``
    "gray" or "rgb", the image it is shown; "rgb" if it says nothing.
``fingerprint``
    Text that names exactly this predictor, such as a digest of its weights. Without one, features computed
    with it are not cached.
``definition``
    A JSON object ``{"name": registered name, option: value, ...}`` from which it can be made again. Without
    one, a model that uses it cannot be saved.
"""

from __future__ import annotations

import functools
import importlib
import json
import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeGuard, TypeVar

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def offers(plugin: object, protocol: type[T]) -> TypeGuard[T]:
    """Whether a plug-in has all that a protocol names: isinstance, a hundred times as fast.

    For what is asked several times per face; Python before 3.12 collects the names anew for every answer.
    """
    key: Any = protocol
    return all(hasattr(plugin, name) for name in _names_of(key))


@functools.cache
def _names_of(protocol: type) -> tuple[str, ...]:
    parts = [part for part in protocol.__mro__ if part not in (Protocol, Generic, object)]
    return tuple({name for part in parts for name in vars(part) if not name.startswith("_")})


def color_of(plugin: object) -> str:
    """ "gray" or "rgb": the image a detector or predictor is shown."""
    color: str = getattr(plugin, "color", "rgb")
    if color not in ("gray", "rgb"):
        raise ValueError(f"color of {name_of(plugin)} must be 'gray' or 'rgb', got {color!r}")
    return color


def fingerprint_of(plugin: object) -> str | None:
    """What names exactly this predictor, or None."""
    fingerprint: str | None = getattr(plugin, "fingerprint", None)
    return fingerprint


def definition_of(plugin: object) -> dict[str, Any] | None:
    """How a plug-in can be made again, or None."""
    given: Mapping[str, Any] | None = getattr(plugin, "definition", None)
    return None if given is None else dict(given)


def name_of(plugin: object) -> str:
    """The registered name of a plug-in if it has a definition, else that of its class or function."""
    name = (definition_of(plugin) or {}).get("name")
    if isinstance(name, str):
        return name
    kind: Any = plugin if callable(plugin) and hasattr(plugin, "__qualname__") else type(plugin)
    return f"{kind.__module__}.{kind.__qualname__}"


def deferred(module: str, name: str, **fixed: Any) -> Callable[..., Any]:
    """A factory of this package whose module is imported with the first call.

    Parameters
    ----------
    module : str
        Below ``facereject.faces``.
    name : str
        Of a class or one of its methods.
    **fixed
        Options that are always given.
    """

    def make(**options: Any) -> Any:
        found = importlib.import_module(f"facereject.faces.{module}")
        return operator.attrgetter(name)(found)(**fixed, **options)

    return make


class RegistryError(ValueError):
    """A name is not registered, or its factory failed."""


class Registry(Generic[T]):
    """Factories by name: those of this package, those registered in code, and entry points.

    Parameters
    ----------
    noun : str
        What is made, for messages: "detector".
    group : str
        The group of entry points where installed packages announce theirs.
    function : str
        The function that registers one in code, for messages.
    own : mapping of str to callable
        Factories of this package; their names cannot be taken.
    """

    def __init__(self, noun: str, group: str, function: str, own: Mapping[str, Callable[..., T]]) -> None:
        self.noun, self.group, self._function = noun, group, function
        self._own = dict(own)
        self._registered: dict[str, Callable[..., T]] = {}

    def register(self, name: str, factory: Callable[..., T]) -> None:
        """Make a factory known under a name, in this process; a later one of the same name replaces it."""
        if not isinstance(name, str) or not name or name != name.strip():
            raise ValueError(f"name must be a text without blanks around it, got {name!r}")
        if name in self._own:
            raise ValueError(f"name {name!r} is a {self.noun} of facereject itself; choose another")
        if not callable(factory):
            raise TypeError(f"factory must be a class or function that makes a {self.noun}, got {factory!r}")
        self._registered[name] = factory

    def origins(self) -> dict[str, str]:
        """All names there are, sorted, and where each comes from; nothing is imported for it."""
        found = {entry.name: _distribution(entry) for entry in self._entry_points()}
        found |= dict.fromkeys(self._registered, "registered in code")
        found |= dict.fromkeys(self._own, "facereject")
        return dict(sorted(found.items()))

    def make(self, name: str, **options: Any) -> T:
        """Make the plug-in of this name; RegistryError if there is none, or if its options are wrong."""
        factory = self._factory(name)
        try:
            return factory(**options)
        except ValueError:
            # says what is wrong with the options
            raise
        except Exception as error:
            given = f" with the options {', '.join(options)}" if options else ""
            raise RegistryError(
                f"the {self.noun} {name!r} cannot be made{given}: {type(error).__name__}: {error}"
            ) from error

    def restore(self, definition: Mapping[str, Any]) -> T:
        """Make the one that a definition describes."""
        options = dict(definition)
        name = options.pop("name", None)
        if not isinstance(name, str):
            raise RegistryError(f"the definition of the {self.noun} names none: {dict(definition)!r}")
        return self.make(name, **options)

    def checked_definition(self, plugin: object) -> dict[str, Any]:
        """The definition of a plug-in, after trying to make it again from it; else ValueError."""
        definition = definition_of(plugin)
        how = (
            f"register its class with {self._function}('some-name', ...) and give it an attribute "
            "definition = {'name': 'some-name', **its options as JSON}; see docs/plugins.md"
        )
        if definition is None:
            raise ValueError(f"the {self.noun} {name_of(plugin)} cannot be stored in a model file: {how}")
        try:
            plain = json.loads(json.dumps(definition, allow_nan=False))
            again = definition_of(self.restore(plain))
        except (RegistryError, TypeError, ValueError) as error:
            which = f"the {self.noun} {name_of(plugin)}"
            raise ValueError(f"{which} cannot be restored ({error}): {how}") from error
        if again != definition or plain != definition:
            raise ValueError(
                f"the {self.noun} {name_of(plugin)} cannot be restored: made from its definition "
                f"{definition!r} it would be {again!r}; {how}"
            )
        return definition

    def _factory(self, name: str) -> Callable[..., T]:
        for known in (self._own, self._registered):
            if name in known:
                return known[name]
        for entry in self._entry_points():
            if entry.name == name:
                try:
                    factory: Callable[..., T] = entry.load()
                except Exception as error:
                    raise RegistryError(
                        f"the {self.noun} {name!r} of {_distribution(entry)} cannot be loaded: "
                        f"{type(error).__name__}: {error}"
                    ) from error
                return factory
        raise RegistryError(
            f"no {self.noun} is registered as {name!r}; there are {', '.join(self.origins())}. Install the "
            f"package that brings it, or register it with {self._function}"
        )

    def _entry_points(self) -> list[EntryPoint]:
        # slow to import, and wanted for plug-ins of other packages only
        from importlib.metadata import entry_points

        return list(entry_points(group=self.group))


def _distribution(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else entry.value
