"""Statistics over arrays and plain records: nothing here reads options, writes files or runs a metric."""

from medassay.study.agreement import (
    alpha_interval,
    cohen_kappa,
    count_f1,
    fleiss_kappa,
    krippendorff_alpha,
    mean_over_pairs,
    rater_correlation,
)
from medassay.study.calibration import auc, aurc, curve, deploy_threshold, ece, reject_threshold, reliability
from medassay.study.changes import NotMade, change, hallucinate, kinds, reworded
from medassay.study.correlation import COEFFICIENTS, kendall, pearson, spearman
from medassay.study.material import (
    FORMS,
    Material,
    Original,
    Variant,
    Varied,
    brings_changes,
    make_material,
    originals_of,
    sample,
    vary_cases,
    vary_originals,
)
from medassay.study.resampling import Estimate, Floats, bootstrap_sums, interval
from medassay.study.score_columns import ScoreColumns
from medassay.study.significance import Comparison, Pair, cliffs_delta, compare, holm
from medassay.study.stress import RUNGS, Card, Drop, Stress, sensitivity_cards
from medassay.study.summary import Aggregate, Tally, summarise
from medassay.study.tables import Cell, Table
from medassay.study.trust_fit import Fit, Labelled, fit, trust_of
from medassay.study.trust_studies import TrustScores, ablation, benchmark, gap, gather, repeat_runs, sensitivity
from medassay.study.validation import Agreement, Validation, validate

__all__ = [
    "COEFFICIENTS",
    "FORMS",
    "RUNGS",
    "Aggregate",
    "Agreement",
    "Card",
    "Cell",
    "Comparison",
    "Drop",
    "Estimate",
    "Fit",
    "Floats",
    "Labelled",
    "Material",
    "NotMade",
    "Original",
    "Pair",
    "ScoreColumns",
    "Stress",
    "Table",
    "Tally",
    "TrustScores",
    "Validation",
    "Variant",
    "Varied",
    "ablation",
    "alpha_interval",
    "auc",
    "aurc",
    "benchmark",
    "bootstrap_sums",
    "brings_changes",
    "change",
    "cliffs_delta",
    "cohen_kappa",
    "compare",
    "count_f1",
    "curve",
    "deploy_threshold",
    "ece",
    "fit",
    "fleiss_kappa",
    "gap",
    "gather",
    "hallucinate",
    "holm",
    "interval",
    "kendall",
    "kinds",
    "krippendorff_alpha",
    "make_material",
    "mean_over_pairs",
    "originals_of",
    "pearson",
    "rater_correlation",
    "reject_threshold",
    "reliability",
    "repeat_runs",
    "reworded",
    "sample",
    "sensitivity",
    "sensitivity_cards",
    "spearman",
    "summarise",
    "trust_of",
    "validate",
    "vary_cases",
    "vary_originals",
]
