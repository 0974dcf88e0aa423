"""The options of a command, made from the dataclasses that take them.

An option is declared once, as a field of the class it belongs to (see `facereject._options.option`). A
command names its classes; from them come its parameters, its help, and the objects with what the user gave.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import typer

from facereject._cli._shared import stop
from facereject._options import Option, OptionError, options_of

if TYPE_CHECKING:
    from facereject.outputs import Output

_Kind = TypeVar("_Kind")


class Flag(NamedTuple):
    """One flag of the command line and the field it sets.

    Attributes
    ----------
    kind, field : type, dataclasses.Field
    flags : tuple of str
        As on the command line, the long one first.
    option : Option
        Empty for a field whose type says how typer shows it.
    help : str
    value : str or None
        What a flag of `Option.switches` sets the field to.
    """

    kind: type
    field: dataclasses.Field[Any]
    flags: tuple[str, ...]
    option: Option = Option((), "")
    help: str = ""
    value: str | None = None

    @property
    def name(self) -> str:
        """The name of its parameter; two classes can share one."""
        return self.flags[0].split("/")[0].removeprefix("--").replace("-", "_")

    @property
    def turns_off(self) -> bool:
        """Whether the flag sets a field to False."""
        return self.field.default is True

    def parameter(self) -> inspect.Parameter:
        """The parameter of a function from which typer makes the option."""
        kind, default = inspect.Parameter.KEYWORD_ONLY, self.field.default
        hint = typing.get_type_hints(self.kind, include_extras=True)[self.field.name]
        if not self.help:
            return inspect.Parameter(self.name, kind, default=default, annotation=hint)
        if self.value is not None or self.turns_off:
            hint, default = bool, False
        elif self.option.parse is not None:
            hint, default = str | None, None
        elif default is dataclasses.MISSING or (default is None and type(None) not in typing.get_args(hint)):
            hint, default = hint | None, None
        described = typer.Option(
            *self.flags,
            metavar=self.option.metavar,
            help=self.help,
            rich_help_panel=self.option.panel or getattr(self.kind, "panel", None),
            show_default=default not in (None, False, "", 0.0),
        )
        return inspect.Parameter(self.name, kind, default=default, annotation=Annotated[hint, described])


class Given:
    """What the user gave, as objects of the classes that the options belong to.

    Parameters
    ----------
    flags : sequence of Flag
    values : mapping of str to object
        The values of all parameters.
    named : collection of str
        The parameters that are on the command line.
    """

    def __init__(self, flags: Sequence[Flag], values: dict[str, Any], named: Iterable[str]) -> None:
        self._flags, self._values, self._named = flags, values, frozenset(named)

    def values(self, kind: type) -> dict[str, Any]:
        """The values of the fields of a class."""
        found: dict[str, Any] = {}
        for flag in (flag for flag in self._flags if flag.kind is kind):
            value, name = self._values[flag.name], flag.field.name
            if flag.value is not None:
                if value and name in found:
                    stop(f"--{found[name]} and --{flag.value} exclude each other")
                if value:
                    found[name] = flag.value
            elif flag.turns_off:
                found[name] = not value
            elif flag.option.parse is not None:
                found[name] = None if value is None else _parsed(flag, value)
            elif value is not None or flag.field.default is None:
                found[name] = value
        return found

    def make(self, kind: type[_Kind], **more: Any) -> _Kind:
        """The object of a class; what is wrong with it ends the command with code 2."""
        try:
            return kind(**(self.values(kind) | more))
        except OptionError as error:
            stop(in_flags(str(error)))

    def outputs(self, kinds: Iterable[type[Output]]) -> list[Output]:
        """The outputs that were asked for; an option of one that was not ends the command with code 2."""
        kinds = list(kinds)
        wanted = [kind for kind in kinds if any(self._values[flag.name] for flag in self._chooses(kind))]
        taken = {flag.name for flag in self._flags if flag.kind in wanted}
        for flag in self._flags:
            if flag.kind in kinds and flag.name in self._named and flag.name not in taken:
                owners = [each.kind for each in self._flags if each.name == flag.name]
                needed = [each.flags[0] for kind in owners for each in self._chooses(kind)]
                stop(f"{flag.flags[0]} needs {' or '.join(needed)}")
        return [self.make(kind) for kind in wanted]

    def _chooses(self, kind: type) -> Iterator[Flag]:
        """The flags that ask for an output: those of fields that have no other value."""
        return (
            flag
            for flag in self._flags
            if flag.kind is kind and flag.field.default in (None, dataclasses.MISSING)
        )


class Command:
    """A command whose options are those of some classes, besides the parameters of its function.

    Parameters
    ----------
    function : callable
        Gets a `Given` and its own parameters.
    kinds : callable
        Gives the classes, in the order of the help page; called when the options are needed, as importing
        the classes takes longer than showing the list of commands.
    """

    def __init__(self, function: Callable[..., None], kinds: Callable[[], Sequence[type]]) -> None:
        self._function, self._kinds = function, kinds
        self._made: list[Flag] | None = None
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.__module__ = function.__module__
        # typer asks for them; the signature has the same in full
        self.__annotations__ = {}

    def __call__(self, context_: typer.Context, **values: Any) -> None:
        sources = {name: context_.get_parameter_source(name) for name in values}
        # typer has its own copy of click, or not
        named = [name for name, source in sources.items() if source and source.name == "COMMANDLINE"]
        own = {name: values[name] for name in list(self._own())[1:]}
        self._function(Given(self._flags(), values, named), **own)

    @property
    def __signature__(self) -> inspect.Signature:
        own = {
            name: each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for name, each in list(self._own().items())[1:]
        }
        # a parameter of the function takes the place of a shared one; of two classes the first describes it
        shared = {flag.name: flag.parameter() for flag in reversed(self._flags()) if flag.name not in own}
        names = dict.fromkeys(flag.name for flag in self._flags() if flag.name not in own)
        context = inspect.Parameter("context_", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
        return inspect.Signature([context, *own.values(), *(shared[name] for name in names)])

    def _own(self) -> dict[str, inspect.Parameter]:
        return dict(inspect.signature(self._function, eval_str=True).parameters)

    def _flags(self) -> list[Flag]:
        if self._made is None:
            self._made = [flag for kind in self._kinds() for flag in flags_of(kind)]
        return self._made


def command(kinds: Callable[[], Sequence[type]]) -> Callable[[Callable[..., None]], Command]:
    """Make a command whose options are those of some classes; see `Command`."""
    return lambda function: Command(function, kinds)


def flags_of(kind: type) -> Iterator[Flag]:
    """The flags of a class: of fields made by `option`, and of fields with a type for typer."""
    options, hints = options_of(kind), typing.get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        option = options.get(field.name)
        if option is None:
            for info in getattr(hints[field.name], "__metadata__", ()):
                yield Flag(kind, field, (info.default, *info.param_decls))
        elif option.switches:
            for flag, help in option.switches.items():
                yield Flag(kind, field, (flag,), option, help, flag.removeprefix("--"))
        else:
            yield Flag(kind, field, option.flags or (_flag(field.name),), option, option.help)


def in_flags(text: str) -> str:
    """A message of the library with its options, in backticks there, as the command line calls them."""
    return re.sub(r"`([\w.]+)`", lambda found: _flag_of(found[1]), text)


def _flag_of(name: str) -> str:
    """The flag of ``Class.field`` or ``field``."""
    from facereject.outputs import OUTPUTS
    from facereject.outputs.camera.recording import Recording
    from facereject.outputs.camera.window import Window

    owner, _, field = name.rpartition(".")
    for kind in (*OUTPUTS, Recording, Window):
        if kind.__name__ == owner:
            for flag in flags_of(kind):
                if flag.field.name == field:
                    return "/".join(flag.option.switches) or flag.flags[0]
    return _flag(_OTHERWISE.get(field, field))


# what the command line calls otherwise than Python
_OTHERWISE = {"max_seconds": "seconds", "target": "output", "stream_format": "json"}


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _parsed(flag: Flag, text: str) -> Any:
    try:
        return flag.option.parse(text)
    except ValueError as error:
        stop(f"{flag.flags[0]}: {error}")
