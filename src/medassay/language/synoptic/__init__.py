"""Synoptic elements of a pathology report: what a protocol asks for, where the report states it, what conflicts.

>>> from medassay.language.synoptic import check_report
>>> report = check_report("Breast, mastectomy: invasive ductal carcinoma, grade 2, 31 mm, pT1c. Margins are free.")
>>> report.organ, report.element("ptnm").status, report.element("nodes").status
('breast', 'inconsistent', 'absent')
"""

from medassay.language.synoptic.protocol import ELEMENTS, ORGANS, Protocol, load_protocol
from medassay.language.synoptic.report import Element, SynopticReport, check_report, contradicts
from medassay.language.synoptic.statements import Mention, organ_of, read_mentions

__all__ = [
    "ELEMENTS",
    "ORGANS",
    "Element",
    "Mention",
    "Protocol",
    "SynopticReport",
    "check_report",
    "contradicts",
    "load_protocol",
    "organ_of",
    "read_mentions",
]
