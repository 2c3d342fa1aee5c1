"""Statistics over arrays and plain records: nothing here reads options, writes files or runs a metric.

Names are imported on first use: a summary needs none of the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from medassay.lazy import lazy_names

if TYPE_CHECKING:
    from medassay.study.agreement import Level as Level
    from medassay.study.agreement import alpha_interval as alpha_interval
    from medassay.study.agreement import cohen_kappa as cohen_kappa
    from medassay.study.agreement import count_f1 as count_f1
    from medassay.study.agreement import difference_interval as difference_interval
    from medassay.study.agreement import fleiss_kappa as fleiss_kappa
    from medassay.study.agreement import intraclass_correlation as intraclass_correlation
    from medassay.study.agreement import krippendorff_alpha as krippendorff_alpha
    from medassay.study.agreement import mean_over_pairs as mean_over_pairs
    from medassay.study.agreement import rater_correlation as rater_correlation
    from medassay.study.agreement import span_f1 as span_f1
    from medassay.study.analytic import analytic_p as analytic_p
    from medassay.study.analytic import correlation_p as correlation_p
    from medassay.study.averages import CrossData as CrossData
    from medassay.study.averages import aggregate as aggregate
    from medassay.study.averages import average_correlations as average_correlations
    from medassay.study.averages import cross_data as cross_data
    from medassay.study.bench import BenchCard as BenchCard
    from medassay.study.bench import bench_cards as bench_cards
    from medassay.study.changes import change as change
    from medassay.study.changes import kinds as kinds
    from medassay.study.correlation import COEFFICIENTS as COEFFICIENTS
    from medassay.study.correlation import kendall as kendall
    from medassay.study.correlation import pearson as pearson
    from medassay.study.correlation import spearman as spearman
    from medassay.study.error_levels import Graded as Graded
    from medassay.study.error_levels import hierarchy as hierarchy
    from medassay.study.material import FORMS as FORMS
    from medassay.study.material import Material as Material
    from medassay.study.material import Original as Original
    from medassay.study.material import Variant as Variant
    from medassay.study.material import Varied as Varied
    from medassay.study.material import brings_changes as brings_changes
    from medassay.study.material import make_material as make_material
    from medassay.study.material import originals_of as originals_of
    from medassay.study.material import sample as sample
    from medassay.study.material import vary_cases as vary_cases
    from medassay.study.material import vary_originals as vary_originals
    from medassay.study.preference import Pairwise as Pairwise
    from medassay.study.preference import Preference as Preference
    from medassay.study.preference import PreferenceStudy as PreferenceStudy
    from medassay.study.preference import pairwise_accuracy as pairwise_accuracy
    from medassay.study.preference import preference_study as preference_study
    from medassay.study.resampling import Estimate as Estimate
    from medassay.study.resampling import Floats as Floats
    from medassay.study.score_columns import ScoreColumns as ScoreColumns
    from medassay.study.significance import Comparison as Comparison
    from medassay.study.significance import Families as Families
    from medassay.study.significance import Pair as Pair
    from medassay.study.significance import compare as compare
    from medassay.study.stress import RUNGS as RUNGS
    from medassay.study.stress import Card as Card
    from medassay.study.stress import Drop as Drop
    from medassay.study.stress import Stress as Stress
    from medassay.study.stress import sensitivity_cards as sensitivity_cards
    from medassay.study.summary import Aggregate as Aggregate
    from medassay.study.summary import Tally as Tally
    from medassay.study.summary import summarise as summarise
    from medassay.study.tables import Cell as Cell
    from medassay.study.tables import Table as Table
    from medassay.study.trust_fit import Fit as Fit
    from medassay.study.trust_fit import Labelled as Labelled
    from medassay.study.trust_fit import fit as fit
    from medassay.study.trust_studies import TrustScores as TrustScores
    from medassay.study.trust_studies import ablation as ablation
    from medassay.study.trust_studies import benchmark as benchmark
    from medassay.study.trust_studies import gap as gap
    from medassay.study.trust_studies import gather as gather
    from medassay.study.trust_studies import repeat_runs as repeat_runs
    from medassay.study.trust_studies import sensitivity as sensitivity
    from medassay.study.validation import Agreement as Agreement
    from medassay.study.validation import Validation as Validation
    from medassay.study.validation import validate as validate

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "agreement": "Level alpha_interval cohen_kappa count_f1 difference_interval fleiss_kappa "
        "intraclass_correlation krippendorff_alpha mean_over_pairs rater_correlation span_f1",
        "bench": "BenchCard bench_cards",
        "changes": "change kinds",
        "analytic": "analytic_p correlation_p",
        "averages": "CrossData aggregate average_correlations cross_data",
        "correlation": "COEFFICIENTS kendall pearson spearman",
        "error_levels": "Graded hierarchy",
        "material": "FORMS Material Original Variant Varied brings_changes make_material originals_of sample "
        "vary_cases vary_originals",
        "preference": "Pairwise Preference PreferenceStudy pairwise_accuracy preference_study",
        "resampling": "Estimate Floats",
        "score_columns": "ScoreColumns",
        "significance": "Comparison Families Pair compare",
        "stress": "Card Drop RUNGS Stress sensitivity_cards",
        "summary": "Aggregate Tally summarise",
        "tables": "Cell Table",
        "trust_fit": "Fit Labelled fit",
        "trust_studies": "TrustScores ablation benchmark gap gather repeat_runs sensitivity",
        "validation": "Agreement Validation validate",
    },
)
