"""From texts to reports: every text once, in order, and ahead of need where models answer later."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from medassay.language import graph
from medassay.spans import Link, Reading, Span


class Ner:
    """Finds CD20 and `positive`, and writes down what it is asked."""

    def __init__(self, log: list[str]) -> None:
        self.log = log

    def spans(self, texts: Sequence[str]) -> list[list[Span]]:
        self.log.append(f"entities of {len(texts)}")
        return [
            [Span(at, at + len(word), kind, 0.9)]
            for text in texts
            for word, kind in [("CD20", "marker") if "CD20" in text else ("positive", "modifier")]
            for at in [text.index(word)]
        ]


class Relations:
    """Relates nothing."""

    def __init__(self, log: list[str]) -> None:
        self.log = log

    def read(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Reading]:
        self.log.append(f"relations of {len(texts)}")
        links: tuple[Link, ...] = ()
        return [Reading((), links) for _ in texts]


class LaterNer(Ner):
    at_once = 2

    def begin(self, texts: Sequence[str]) -> Callable[[], list[list[Span]]]:
        self.log.append(f"ask entities {texts[0][:2]}")
        return lambda: (self.log.append(f"take entities {texts[0][:2]}"), Ner([]).spans(texts))[1]


class LaterRelations(Relations):
    def begin(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> Callable[[], list[Reading]]:
        self.log.append(f"ask relations {texts[0][:2]}")
        return lambda: (self.log.append(f"take relations {texts[0][:2]}"), Relations([]).read(texts, spans))[1]


TEXTS = [f"{i}: {'CD20' if i % 2 else 'positive'} here" for i in range(5)]


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[Ner, Relations], None]:
    def set_up(ner: Ner, relations: Relations) -> None:
        monkeypatch.setattr(graph, "load", lambda role, _: ner if role == "ner" else relations)

    return set_up


def test_equal_texts_are_read_once_and_reports_come_in_order(use: Callable[[Ner, Relations], None]) -> None:
    log: list[str] = []
    use(Ner(log), Relations(log))
    reports = graph.read_reports([TEXTS[1], TEXTS[0], TEXTS[1]])
    assert log == ["entities of 2", "relations of 2"]
    assert [report.text for report in reports] == [TEXTS[1], TEXTS[0], TEXTS[1]]
    assert reports[0].entities[0].text == "CD20" and reports[1].entities[0].text == "positive"


def test_a_device_is_asked_for_the_next_part_before_this_one_is_looked_at(
    use: Callable[[Ner, Relations], None],
) -> None:
    use(Ner([]), Relations([]))
    wanted = graph.read_reports(TEXTS)
    log: list[str] = []
    use(LaterNer(log), LaterRelations(log))
    assert graph.read_reports(TEXTS) == wanted
    assert log == [
        "ask entities 0:",
        "take entities 0:",
        "ask entities 2:",
        "ask relations 0:",
        "take entities 2:",
        "ask entities 4:",
        "ask relations 2:",
        "take relations 0:",
        "take entities 4:",
        "ask relations 4:",
        "take relations 2:",
        "take relations 4:",
    ]


def test_nothing_to_read(use: Callable[[Ner, Relations], None]) -> None:
    use(LaterNer([]), LaterRelations([]))
    assert graph.read_reports([]) == []
