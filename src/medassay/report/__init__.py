"""What a person reads: HTML pages and terminal tables, drawn from plain summaries.

Names are imported on first use, so that a summary does not load the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from medassay.lazy import lazy_names

if TYPE_CHECKING:
    from medassay.report.bench import BenchRun as BenchRun
    from medassay.report.bench import print_bench as print_bench
    from medassay.report.check_page import CheckPage as CheckPage
    from medassay.report.check_summary import CheckSummary as CheckSummary
    from medassay.report.check_summary import print_check as print_check
    from medassay.report.comparison_files import COMPARISON_FORMATS as COMPARISON_FORMATS
    from medassay.report.comparison_files import write_comparison as write_comparison
    from medassay.report.comparison_terminal import comparison_text as comparison_text
    from medassay.report.comparison_terminal import print_comparison as print_comparison
    from medassay.report.extract_page import ExtractPage as ExtractPage
    from medassay.report.page import PageFile as PageFile
    from medassay.report.page import PageWriter as PageWriter
    from medassay.report.page import page_settings as page_settings
    from medassay.report.page import summary_html as summary_html
    from medassay.report.sections import Run as Run
    from medassay.report.sections import Section as Section
    from medassay.report.stress_page import stress_sections as stress_sections
    from medassay.report.study_page import write_study as write_study
    from medassay.report.study_tables import markdown_table as markdown_table
    from medassay.report.study_tables import print_study as print_study
    from medassay.report.study_tables import study_section as study_section
    from medassay.report.study_terminal import print_cross_data as print_cross_data
    from medassay.report.study_terminal import print_preferences as print_preferences
    from medassay.report.study_terminal import print_stress as print_stress
    from medassay.report.study_terminal import print_validation as print_validation
    from medassay.report.terminal import print_metric_card as print_metric_card
    from medassay.report.terminal import print_metric_list as print_metric_list
    from medassay.report.terminal import print_summary as print_summary
    from medassay.report.terminal import summary_text as summary_text
    from medassay.report.trust_policy import fit_sections as fit_sections
    from medassay.report.trust_policy import print_fit as print_fit
    from medassay.report.trust_policy import print_routes as print_routes
    from medassay.report.validation_page import study_sections as study_sections
    from medassay.report.validation_page import validation_sections as validation_sections

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "bench": "BenchRun print_bench",
        "check_page": "CheckPage",
        "check_summary": "CheckSummary print_check",
        "comparison_files": "COMPARISON_FORMATS write_comparison",
        "comparison_terminal": "comparison_text print_comparison",
        "extract_page": "ExtractPage",
        "page": "PageFile PageWriter page_settings summary_html",
        "sections": "Run Section",
        "stress_page": "stress_sections",
        "study_page": "write_study",
        "study_tables": "markdown_table print_study study_section",
        "study_terminal": "print_cross_data print_preferences print_stress print_validation",
        "terminal": "print_metric_card print_metric_list print_summary summary_text",
        "trust_policy": "fit_sections print_fit print_routes",
        "validation_page": "study_sections validation_sections",
    },
)
