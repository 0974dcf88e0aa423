"""Many inputs into one table: what to do, doing it, sorting the files, timelines.

The entry is `facereject.score_files`; `ScoreJob` is the same in two steps.
"""

from facereject.batch.inputs import Input, InputError, expand_inputs
from facereject.batch.job import ScoreJob
from facereject.batch.options import OptionError
from facereject.batch.outputs.timeline import TimelineError
from facereject.batch.run import RunProgress
from facereject.batch.score import score_files, score_table

__all__ = [
    "Input",
    "InputError",
    "OptionError",
    "RunProgress",
    "ScoreJob",
    "TimelineError",
    "expand_inputs",
    "score_files",
    "score_table",
]
