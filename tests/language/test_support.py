"""What one text bears out of another's statements."""

from __future__ import annotations

from medassay.language.mentions import mentions
from medassay.language.numbers import numbers
from medassay.language.support import Ground, Support, rarity, stems


def support(said: str, *texts: str) -> Support:
    return Ground(texts).support(list(dict.fromkeys(stems(said))), mentions(said), [n.value for n in numbers(said)])


def test_all_of_it_in_one_fact() -> None:
    found = support("denies fever", "Doctor: Any fever? Patient: No, I deny that. Doctor: Pain? Patient: No.")
    assert found.words > 0.4 and found.together > 0.4 and found.concepts == 0 and found.best == 0


def test_words_scattered_over_the_text_are_found_but_not_together() -> None:
    found = support(
        "left knee swelling", "Left arm is fine. Normal gait. Knee is fine. Good mood. Swelling of the hand."
    )
    assert found.words == 1.0
    assert found.together < 1.0


def test_spoken_numbers_and_spelled_letters() -> None:
    assert support("59 years", "Patient: I am fifty nine years old. Doctor: I see.").numbers == 0
    assert support("58 years", "Patient: I am fifty nine years old. Doctor: I see.").numbers == 1
    assert support("EKG", "Doctor: Your E K G is fine. Patient: Good.").words == 1.0


def test_a_concept_by_another_name() -> None:
    assert support("gastric carcinoma", "My mother had stomach cancer.").concepts == 0
    assert support("diabetes", "My mother had stomach cancer.").concepts == 1


def test_nothing_to_bear_out_is_borne_out() -> None:
    assert support("the", "Any text.").words == 1.0
    assert support("pain", "") == Support(0.0, 0.0, 1, 0, -1)


def test_rare_words_count_more() -> None:
    assert rarity("lisin") > rarity("histo") > 0
