"""The report of an evaluation: a page with figures, tables and faces, and the numbers behind it."""

from facereject.reports.evaluation.files import FILES, check_report_folder, write_report
from facereject.reports.evaluation.numbers import GroupEvidence, group_evidence

__all__ = ["FILES", "GroupEvidence", "check_report_folder", "group_evidence", "write_report"]
