"""The report of an evaluation: a page with figures, tables and faces, and the numbers behind it."""

from facereject.reports.evaluation.files import FILES, write_report
from facereject.reports.evaluation.numbers import GroupEvidence, group_evidence

__all__ = ["FILES", "GroupEvidence", "group_evidence", "write_report"]
