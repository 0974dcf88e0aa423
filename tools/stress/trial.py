"""What a trial counts: how much was tried, and what failed, in sentences."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

# more failures than this are counted only
_SHOWN = 10


@dataclass
class Trial:
    """The count of one kind of trials.

    Parameters
    ----------
    name : str
    seconds : float
        Seconds after which no further trial is begun.
    """

    name: str
    seconds: float
    tried: int = 0
    failures: list[str] = field(default_factory=list)
    remarks: Counter[str] = field(default_factory=Counter)
    _start: float = field(default_factory=time.monotonic)

    def goes_on(self) -> bool:
        """Whether there is time for another one; the first always takes place, however slow the machine."""
        return self.tried == 0 or time.monotonic() - self._start < self.seconds

    def check(self, passed: bool, sentence: str) -> None:
        """Note the outcome of one trial; the sentence says what went wrong if it did."""
        self.tried += 1
        if not passed:
            self.failures.append(sentence)

    def remark(self, sentence: str) -> None:
        """Count something that is no trial."""
        self.remarks[sentence] += 1

    def report(self) -> str:
        """One line with the counts, and the first failures."""
        seconds = time.monotonic() - self._start
        lines = [f"{self.name}: {self.tried:,} tried, {len(self.failures):,} failed, {seconds:.0f} s"]
        lines += [f"    {count:,} {sentence}" for sentence, count in self.remarks.items()]
        lines += [f"    {sentence}" for sentence in self.failures[:_SHOWN]]
        return "\n".join(lines)
