"""One sentence cut into the facts that it states, each with the words that it needs to stand alone.

A sentence is cut where a clause, a relative clause, a phrase that adds a fact or an item of a list begins. Each part
carries what governs it: a verb its subject, an item of a list the words before the list ("denies chills"), a relative
clause its antecedent, coordinated subjects their predicate. What stands under a negation is never quoted without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from medassay.language.lexicon import named_pattern, statement_words
from medassay.language.marker_lists import share_results, states_result
from medassay.language.syntax import AHEAD, BACK, Chunk, Sentence, is_adjective


@dataclass(frozen=True, slots=True)
class Part:
    """One fact of a sentence: the characters [start, end) that state it, and `text`, which can be read alone.

    complete: whether it has a verb, so that it needs no heading.
    """

    start: int
    end: int
    text: str
    complete: bool


def parts(text: str, start: int, end: int) -> list[Part]:
    """The facts that the sentence at [start, end) states, in order.

    >>> [part.text for part in parts("She smokes and denies fever, chills or cough.", 0, 45)]
    ['She smokes', 'She denies fever', 'She denies chills', 'She denies cough']
    """
    frame = named_pattern("statement frame").match(text, start, end)
    sentence = Sentence(text, frame.end() if frame else start, end)
    main = sentence.after_opener()
    chunks = _cut(sentence, main)
    _carry(sentence, chunks, sentence.context(0, main) if sentence.states(0, main) else "")
    return list(_read(sentence, chunks))


def _read(sentence: Sentence, chunks: list[Chunk]) -> Iterator[Part]:
    for chunk in chunks:
        first, last = chunk.first, chunk.last
        while last > first and sentence.words[last - 1] in ",;.:-–([)]" and not sentence.shielded[last - 1]:
            last -= 1
        while last > first and sentence.words[first] in ",;.:-–)]":
            first += 1
        adverb = last - first == 1 and sentence.words[first].endswith("ly")
        if sentence.states(first, last) and not adverb:
            text = _joined(chunk.prefix, sentence.quote(first, last), chunk.suffix)
            yield Part(sentence.starts[first], sentence.ends[last - 1], text, chunk.complete)


def _joined(*texts: str) -> str:
    return " ".join(filter(None, texts))


def _cut(sentence: Sentence, main: int) -> list[Chunk]:
    chunks = [Chunk("clause", main, len(sentence))]
    base = main
    i = main + 1
    while i < len(sentence):
        cut = None if sentence.shielded[i] else _opened(sentence, chunks[-1], base, i)
        if cut is None:
            i += 1
            continue
        chunks[-1].last = i
        chunks.append(cut)
        base = base if cut.kind in ("item", "phrase") else cut.first
        i = cut.first + 1
    return chunks


def _opened(sentence: Sentence, chunk: Chunk, base: int, i: int) -> Chunk | None:
    """The chunk that begins at or after word `i`, or None where the one before goes on."""
    words, n = sentence.words, len(sentence)
    at, joined = sentence.after_connector(i)
    connected = at > i
    but = connected and words[at - 1] in ("but", "yet")
    contrast = at < n and sentence.is_any(at, "contrast")
    strict = contrast and words[at] != "but"
    if contrast:
        at += 2 if words[at + 1 : at + 2] == [","] else 1
    outside = _outside(sentence, at)
    if outside:
        return Chunk("clause", outside, n) if outside < n else None
    if at >= n:
        return None
    negated = sentence.is_negated(base, at)
    if (connected or not negated) and _opens_relative(sentence, at):
        return Chunk("relative", at + 1, n, connected, joined) if at + 1 < n else None
    governed = sentence.has_verb(base, i)
    if (connected or not negated) and _adds(sentence, chunk, at, connected, governed):
        return Chunk("phrase", at, n, connected, joined)
    if not connected and not contrast:
        return None
    behind = at
    while behind < n - 1 and sentence.is_any(behind, "adverb"):
        behind += 1
    if sentence.verbs[behind]:
        # "does not show or reveal": what is joined by "or" stays under the negation.
        under = negated and words[at - 1] in ("or", "nor")
        return Chunk("item" if under else "verb", at, n, True, joined)
    if words[i] == ";" and named_pattern("stage code").match(sentence.text, sentence.starts[at]):
        return None
    if words[i] == ";" and _lists_negatives(sentence, base, i, at):
        return Chunk("item", at, n, True, joined)
    if (
        words[i] == ";"
        or (strict and connected)
        or (sentence.opens_clause(at) and (governed or not joined or chunk.kind == "phrase"))
    ):
        return Chunk("clause", at, n, True, joined)
    if not connected or _belongs(sentence, chunk, i, at, joined, governed):
        return None
    # "no fever but a cough": what follows "but" is not under the negation.
    return Chunk("clause" if but and negated else "item", at, n, True, joined)


def _lists_negatives(sentence: Sentence, base: int, i: int, at: int) -> bool:
    """Whether the words after a semicolon go on with a list of what a review of systems is "negative for"."""
    words = sentence.words
    begin = max(base, i - BACK)
    listed = any(words[k] == "for" and words[k - 1] in ("neg", "negative") for k in range(begin + 1, i))
    end = next((k for k in range(at, min(len(sentence), at + AHEAD)) if words[k] == ";"), len(sentence))
    own = sentence.is_any(at, "status", "negation") or sentence.has_verb(at, end)
    return listed and not own


def _outside(sentence: Sentence, at: int) -> int:
    """Where a clause begins that carries nothing, after "except for", "after which" …; 0 where none does."""
    for length in (4, 2, 1):
        if " ".join(sentence.words[at : at + length]) in statement_words("exception"):
            return at + length
    which = sentence.words[at + 1 : at + 2] == ["which"] and sentence.is_any(at, "tight", "strong")
    return at + 2 if which else 0


def _opens_relative(sentence: Sentence, at: int) -> bool:
    if sentence.words[at] in statement_words("relative pronoun"):
        return True
    verb = at + 1 < len(sentence) and sentence.verbs[at + 1]
    return sentence.words[at] == "that" and verb and not sentence.has_verb(max(0, at - 2), at)


def _adds(sentence: Sentence, chunk: Chunk, at: int, connected: bool, governed: bool) -> bool:
    """Whether a phrase begins that says more of what stands before it: "with …", "measuring …", "including …"."""
    word = sentence.words[at]
    if at == len(sentence) - 1:
        return False
    if connected and word.endswith("ly"):
        return sentence.is_any(at + 1, "participle", "loose participle")
    if word in statement_words("accompaniment"):
        attached = sentence.is_any(at - 1, "attached", "verb", "adverb", "tight") or sentence.verbs[at - 1]
        short = not governed and at - chunk.first <= (3 if word == "without" else 1)
        return not short and (connected or (sentence.states(chunk.first, at) and not attached))
    loose = sentence.is_any(at, "loose participle")
    loose |= sentence.is_any(at, "change") and sentence.is_any(at + 1, "tight")
    if not loose and not sentence.is_any(at, "participle"):
        return False
    follows = sentence.is_any(at + 1, "tight", "strong") or sentence.words[at + 1] == "post"
    if not word.endswith("ing") and not follows:
        return False
    free = not sentence.is_any(at - 1, "verb", "adverb", "tight", "determiner", "strong")
    free = free and not sentence.words[at - 1].endswith("ly") and sentence.states(chunk.first, at)
    return connected or (free and (governed or not loose))


def _belongs(sentence: Sentence, chunk: Chunk, i: int, at: int, joined: bool, governed: bool) -> bool:
    """Whether the words at `at`, after a comma or coordinator at `i`, belong to the chunk before and state no fact."""
    last = sentence.item_end(at)
    item = sentence.words[at:last]
    if not sentence.states(at, last) or all(not word[0].isalpha() for word in item):
        return True
    if f"{sentence.words[i - 1]} {sentence.words[at - 1]} {item[0]}" in statement_words("fixed"):
        return True
    if sentence.is_any(at, "tight"):
        return not (joined and item[0] in sentence.words[max(chunk.first, i - BACK) : i])
    if item[-1] in statement_words("time after a noun"):
        return True
    if not joined and _specifies(sentence, chunk, i, at, last, governed):
        return True
    governor, strong = sentence.governor(chunk.first, i)
    if governor < 0 or strong:
        return False
    if sentence.words[governor] != "to" and sentence.any_of(at, last, "tight"):
        return False
    name = not joined and sentence.text[sentence.starts[at]].isupper()
    indefinite = item[0] in ("a", "an", "no")
    if name or (sentence.is_any(last - 1, "site") and not indefinite):
        return True
    return sentence.words[i] != "," and len(item) < 5 and not indefinite


def _specifies(sentence: Sentence, chunk: Chunk, i: int, at: int, last: int, governed: bool) -> bool:
    """Whether the words [at, last) after a comma specify the noun before it, or the comma stands between adjectives."""
    if sentence.is_any(last - 1, "apposition") and last - at < 5:
        return True
    code = named_pattern("stage code")
    if code.match(sentence.text, sentence.starts[at]) and code.match(sentence.text, sentence.starts[i - 1]):
        return True
    result = sentence.is_any(at, "status") and (last - at == 1 or sentence.words[at + 1] in ("for", "by", "of"))
    if result and not governed:
        return True
    back = i - 1
    while (
        back > chunk.first
        and i - back < 4
        and (is_adjective(sentence.words[back]) or sentence.words[back].endswith("ly"))
    ):
        back -= 1
    return back < i - 1 and sentence.words[back] in ("a", "an", "the") and not is_adjective(sentence.words[last - 1])


def _carry(sentence: Sentence, chunks: list[Chunk], opener: str) -> None:
    """Give every chunk the words that it needs to stand alone."""
    opener = f"{opener}," if opener else ""
    group, subject, spoken_of = chunks[0], "", ""
    for i, chunk in enumerate(chunks):
        before = chunks[i - 1]
        if chunk.kind == "clause":
            subject = sentence.subject(chunk)
            chunk.prefix = opener if i == 0 else ""
        elif chunk.kind == "verb":
            chunk.prefix = _joined(opener, subject or _verbless_subject(sentence, chunks[0], before, chunk))
        elif chunk.kind == "relative":
            subject = chunk.prefix = _relative_subject(sentence, before, chunk, subject)
        elif chunk.kind == "phrase":
            chunk.prefix = _phrase_prefix(sentence, before, chunk, subject, spoken_of)
        else:
            chunk.prefix = _item_prefix(sentence, group, chunk)
        if chunk.kind != "item":
            spoken_of = chunk.prefix if chunk.kind == "phrase" else ""
        if chunk.kind != "item" or _governs_next(sentence, chunk, chunks[i + 1 : i + 2]):
            group = chunk
        chunk.complete = chunk.kind in ("verb", "relative") or sentence.has_verb(chunk.first, chunk.last)
        chunk.complete |= chunk.kind != "clause" and before.complete
    _share_nouns(sentence, chunks)
    _share_predicates(sentence, chunks)
    share_results(sentence, chunks)


def _verbless_subject(sentence: Sentence, clause: Chunk, before: Chunk, chunk: Chunk) -> str:
    """The subject of a verb that stands apart from it: "All nodes, including the largest, showed no tumor"."""
    apart = not chunk.joined and before is not clause and not sentence.has_verb(clause.first, clause.last)
    return sentence.context(clause.first, clause.last) if apart and sentence.is_any(clause.first, "determiner") else ""


def _governs_next(sentence: Sentence, item: Chunk, after: list[Chunk]) -> bool:
    """Whether an item governs the items after it: it is negated, or the next is joined to it without a comma."""
    if not after or after[0].kind != "item":
        return False
    if sentence.is_any(item.first, "negation"):
        return True
    directly = after[0].joined and after[0].first - item.last == 1
    return directly and sentence.governor(item.first, item.last, lists_only=True)[0] >= 0


def _antecedent(sentence: Sentence, chunk: Chunk, subject: str) -> str:
    """What a chunk speaks of, for the words that say more of it; its subject where the rest is a bare adjective."""
    if chunk.kind == "item" and chunk.prefix.endswith(","):
        return chunk.prefix[:-1]
    first, last = sentence.object(chunk)
    # How long it lasts and what else is said of it is no part of it: "tightness for a week, relieved by rest".
    last = next((i for i in range(first + 1, last)[:BACK] if _says_more(sentence, i)), last)
    if sentence.is_negated(chunk.first, first + (first == chunk.first)):
        return subject
    if sentence.is_person(first, last):
        return "The patient"
    if sentence.is_any(first, "tight"):
        return chunk.prefix or sentence.context(first + 1, last)
    bare = all(is_adjective(word) or word.endswith("ly") for word in sentence.words[first:last][:AHEAD])
    if bare and (subject or chunk.kind == "item"):
        return subject or chunk.prefix
    return sentence.context(first, last)


def _says_more(sentence: Sentence, i: int) -> bool:
    if sentence.words[i] == "for":
        return sentence.is_duration(i + 1)
    return sentence.is_any(i, "participle", "loose participle", "change")


def _relative_subject(sentence: Sentence, before: Chunk, chunk: Chunk, subject: str) -> str:
    who = sentence.words[chunk.first - 1] == "who"
    relative = sentence.any_of(before.first, before.last, "family")
    if who and not relative and sentence.is_person(max(0, chunk.first - BACK), chunk.first):
        return "The patient"
    return _antecedent(sentence, before, subject)


def _phrase_prefix(sentence: Sentence, before: Chunk, chunk: Chunk, subject: str, spoken_of: str) -> str:
    """What a phrase speaks of: what the phrase before it does, the subject, or the words before it."""
    word = sentence.words[chunk.first]
    accompanies = word in statement_words("accompaniment")
    if chunk.joined and sentence.is_any(before.first, "negation") and not accompanies:
        return _joined(before.prefix, sentence.words[before.first])
    if chunk.connected and spoken_of:
        return spoken_of
    if (word in statement_words("complaint") or (chunk.connected and before.kind == "item")) and subject:
        return f"{subject} is" if word.endswith("ing") else subject
    first, _ = sentence.object(before)
    if sentence.is_any(first, "tight") and first > before.first and before.kind != "phrase":
        end = before.last if sentence.words[first] == "to" else first
        return _joined(before.prefix, sentence.context(before.first, end))
    antecedent = _antecedent(sentence, before, subject)
    if antecedent.lower() in statement_words("patient"):
        if word == "with":
            chunk.first += 1
            return f"{antecedent} has"
        return f"{antecedent} is" if word.endswith("ing") else antecedent
    return antecedent


def _item_prefix(sentence: Sentence, group: Chunk, item: Chunk) -> str:
    """What an item of a list carries: the words that govern the list, or the noun that it qualifies."""
    at = item.first
    measure = named_pattern("measure")
    measured = measure.match(sentence.text, sentence.starts[at])
    if measured or (not item.joined and sentence.is_any(at, "qualifier")):
        first, last = sentence.object(group)
        negated = sentence.is_negated(group.first, first)
        head = sentence.context(group.first if negated else first, last)
        if not measure.match(head):
            return f"{head}," if head else ""
    if named_pattern("reading").match(sentence.text, sentence.starts[at]) or states_result(sentence, item):
        return ""
    governor = _list_governor(sentence, group, item)
    under = sentence.words[at - 1] in ("or", "nor") and sentence.is_negated(group.first, group.last)
    if governor < 0 or sentence.verbs[at] or not sentence.states(governor + 1, group.last):
        governor = sentence.last_of(group.first, group.last, "negation") if under else -1
    if governor < 0:
        if group.kind != "phrase":
            return group.prefix if group.kind != "clause" else ""
        governor = group.first + sentence.is_any(group.first + 1, "tight")
    if sentence.is_any(at, "negation") and sentence.words[governor] not in statement_words("light verb"):
        return ""
    if sentence.is_any(governor, "negation") and not under:
        if sentence.words[at] in ("the", "all", "this", "these") or _is_predicate(sentence, item):
            return ""
        governor -= sentence.is_any(at, "status")
    return _joined(group.prefix, sentence.context(group.first, governor + 1))


def _is_predicate(sentence: Sentence, item: Chunk) -> bool:
    """Whether the last item of a sentence is made of adjectives: "no distress, alert and oriented"."""
    last = item.last - (sentence.words[-1] == ".")
    return item.last == len(sentence) and last > item.first and is_adjective(sentence.words[last - 1])


def _list_governor(sentence: Sentence, group: Chunk, item: Chunk) -> int:
    """The word that governs a list.

    A preposition does where the items after it are single words ("normal in size, shape"); an item that begins with a
    preposition of the list's first item goes with the words before that ("seen during exercise or during recovery").
    """
    if sentence.is_any(item.first, "tight"):
        for i in range(max(group.first, group.last - BACK), group.last):
            if sentence.words[i] == sentence.words[item.first]:
                return i - 1
    if sentence.is_any(item.first, "status") and sentence.words[item.first + 1 : item.first + 2] in (["for"], ["of"]):
        return next((i for i in range(group.last - 1, group.first, -1)[:BACK] if sentence.verbs[i]), -1)
    governor, strong = sentence.governor(group.first, group.last)
    last = sentence.item_end(item.first) - 1
    alike = last == item.first or is_adjective(sentence.words[last])
    indefinite = sentence.words[governor] == "of" and sentence.words[item.first] in ("a", "an")
    if strong and (indefinite or (alike and not sentence.states(governor + 1, group.last))):
        return sentence.governor(group.first, governor, lists_only=True)[0]
    if strong or (governor >= 0 and group.last - governor <= 2 and item.last - item.first <= 2):
        return governor
    return sentence.governor(group.first, group.last, lists_only=True)[0]


def _share_nouns(sentence: Sentence, chunks: list[Chunk]) -> None:
    """An adjective alone before "and" shares the noun of the next item: "vascular and lymphatic invasion"."""
    for chunk, after in pairwise(chunks):
        if after.kind != "item" or not after.joined:
            continue
        first, last = sentence.object(chunk)
        while first < last - 1 and sentence.is_any(first, "determiner"):
            first += 1
        end = min(after.last, sentence.item_end(after.first))
        if last - first != 1 or end - after.first < 2:
            continue
        noun = sentence.words[end - 1]
        shared = is_adjective(sentence.words[first]) and not is_adjective(noun)
        if (shared or sentence.is_any(end - 1, "shared noun")) and noun[0].isalpha():
            chunk.suffix = noun


def _share_predicates(sentence: Sentence, chunks: list[Chunk]) -> None:
    """Coordinated subjects share the predicate of the last: "margins and adrenal gland are free of tumor"."""
    for i, chunk in enumerate(chunks):
        if chunk.kind != "item" or not chunk.joined or not sentence.has_verb(chunk.first, chunk.last):
            continue
        verb = next(k for k in range(chunk.first, chunk.last) if sentence.verbs[k])
        head = i - 1
        while head > max(0, i - AHEAD) and chunks[head].kind == "item":
            head -= 1
        subjects = chunks[head:i]
        verbless = not sentence.has_verb(subjects[0].first, subjects[-1].last)
        if verb == chunk.first or chunks[head].kind != "clause" or not verbless:
            continue
        for subject in subjects:
            subject.suffix = _joined(subject.suffix, sentence.context(verb, chunk.last))
            subject.complete = True
