"""What a person reads: pages, terminal tables, drawn from plain summaries."""

from medassay.report.calibration import fit_sections, print_fit
from medassay.report.extract_page import Page as ExtractPage
from medassay.report.stress_page import stress_sections
from medassay.report.study_page import write_study
from medassay.report.study_tables import print_study, study_section
from medassay.report.study_terminal import print_stress, print_validation
from medassay.report.terminal import (
    comparison_text,
    print_comparison,
    print_metric_card,
    print_metric_list,
    print_summary,
    summary_text,
)
from medassay.report.trust_terminal import print_routes
from medassay.report.validation_page import validation_sections

__all__ = [
    "ExtractPage",
    "comparison_text",
    "fit_sections",
    "print_comparison",
    "print_fit",
    "print_metric_card",
    "print_metric_list",
    "print_routes",
    "print_stress",
    "print_study",
    "print_summary",
    "print_validation",
    "stress_sections",
    "study_section",
    "summary_text",
    "validation_sections",
    "write_study",
]
