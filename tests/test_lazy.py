"""Values that are worked out when they are first read."""

from __future__ import annotations

import dataclasses
import pickle

import pytest

from facereject._lazy import Lazy, LazyField, worked_out


@dataclasses.dataclass(frozen=True)
class Holder:
    name: str
    value: LazyField[int] = LazyField(7)  # noqa: RUF009

    def __getstate__(self):
        return worked_out(vars(self))


def counting(result):
    calls = []

    def work():
        calls.append(None)
        return result

    return Lazy(work), calls


def test_the_work_is_done_once_and_only_if_somebody_reads():
    lazy, calls = counting(3)
    holder = Holder("a", lazy)
    assert not calls
    assert (holder.value, holder.value, lazy()) == (3, 3, 3)
    assert len(calls) == 1


def test_two_holders_share_the_work():
    lazy, calls = counting(None)
    assert Holder("a", lazy).value is Holder("b", lazy).value is None
    assert len(calls) == 1


def test_plain_values_and_defaults_are_as_in_any_dataclass():
    assert Holder("a").value == Holder.value == 7
    assert Holder("a", 1) == Holder("a", counting(1)[0])
    assert repr(Holder("a", 1)) == "Holder(name='a', value=1)"
    assert dataclasses.replace(Holder("a", counting(5)[0]), name="b") == Holder("b", 5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Holder("a").value = 2


def test_an_error_is_raised_again_for_the_next_reader():
    def fails():
        raise ValueError("not now")

    holder = Holder("a", Lazy(fails))
    for _ in range(2):
        with pytest.raises(ValueError, match="not now"):
            _ = holder.value


def test_pickles_hold_values():
    lazy, calls = counting(3)
    assert pickle.loads(pickle.dumps(Holder("a", lazy))) == Holder("a", 3)  # noqa: S301
    assert len(calls) == 1
