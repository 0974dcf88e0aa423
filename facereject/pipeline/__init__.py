"""From inputs to outputs: one loop over frames, run here, in worker processes or on a cluster."""

from facereject._options import OptionError as OptionError
from facereject.parallel import RunProgress as RunProgress
from facereject.pipeline.assess import assess_files
from facereject.pipeline.job import Job as Job
from facereject.pipeline.running import Running
from facereject.pipeline.score import score_files
from facereject.pipeline.score import score_table as score_table
from facereject.pipeline.score import scored_video as scored_video

__all__ = [
    "Running",
    "assess_files",
    "score_files",
]
