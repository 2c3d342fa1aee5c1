// Evidence to spans. Offsets count characters as Python does; the browser counts UTF-16 units.

const spanOf = (start, end) => Number.isInteger(start) && Number.isInteger(end) && end > start;
const drawn = new Set(["matches", "entities", "links", "sentences", "reference", "image", "width", "height", "groundings", "impression", "patches", "map", "warning", "picture", "pictureNote", "contradictions", "pairs", "stability", "reports", "partial", "trust"]);

/** Flat differences back to matches, neighbours on both sides joined into runs that read as phrases. */
const runs = (flat, candidate, reference) => {
  const found = [];
  let a = 0;
  let c = 0;
  for (let i = 0; i + 3 < flat.length; i += 4) {
    a += flat[i];
    c += flat[i + 2];
    found.push([a, a + flat[i + 1], c, c + flat[i + 3]]);
  }
  found.sort((x, y) => x[0] - y[0] || x[2] - y[2]);
  const at = toUtf16(candidate);
  const ref = toUtf16(reference);
  const idle = (text, from, to) => from >= to || (to - from < 4 && /^[^\p{L}\p{N}]*$/u.test(text.slice(from, to)));
  const joined = [];
  for (const next of found) {
    const last = joined[joined.length - 1];
    const follows = last && next[2] >= last[2] && idle(candidate, at(last[1]), at(next[0])) && idle(reference, ref(last[3]), ref(next[2]));
    if (follows) {
      last[1] = Math.max(last[1], next[1]);
      last[3] = Math.max(last[3], next[3]);
    } else joined.push([...next]);
  }
  return joined;
};

/**
 * One metric's evidence as spans by side. A span: start, end, css, cue (a short visible word), say (what
 * the line below the texts tells), partners (keys of spans in the other text).
 */
const readEvidence = (evidence, texts, types) => {
  const sides = { candidate: [], reference: [], source: [] };
  const kinds = new Set();
  const put = (side, span) => {
    if (!sides[side] || !spanOf(span.start, span.end)) return null;
    span.key = `${side[0]}${sides[side].length}`;
    sides[side].push(span);
    return span;
  };
  const quote = (side, span) => {
    const at = toUtf16(texts[side] ?? "");
    const words = (texts[side] ?? "").slice(at(span.start), at(span.end)).replace(/\s+/g, " ").trim();
    return `“${words.length > 90 ? words.slice(0, 88) + "…" : words}”`;
  };
  if (Array.isArray(evidence.matches)) {
    kinds.add("matches");
    for (const [a, b, c, d] of runs(evidence.matches, texts.candidate, texts.reference ?? "")) {
      const one = put("candidate", { start: a, end: b, css: "match", partners: [] });
      const two = put("reference", { start: c, end: d, css: "match", partners: [] });
      if (!one || !two) continue;
      one.partners.push(two.key);
      two.partners.push(one.key);
      one.say = two.say = `${quote("candidate", one)} in the candidate, ${quote("reference", two)} in the reference`;
    }
  }
  const entities = evidence.entities;
  if (entities && typeof entities === "object") {
    kinds.add("entities");
    const placed = { candidate: [], reference: [] };
    for (const side of ["candidate", "reference"]) {
      placed[side] = (Array.isArray(entities[side]) ? entities[side] : []).map((entity) => {
        const status = ["matched", "hedged", "missed", "invented", "contradicted"].includes(entity?.status) ? entity.status : "plain";
        const negated = entity?.assertion && !["present", "asserted", "affirmed"].includes(entity.assertion);
        const span = put(side, {
          start: entity?.start, end: entity?.end, partners: [], type: String(entity?.type ?? "entity"), status,
          css: `entity t${Math.max(0, types.indexOf(String(entity?.type ?? "entity"))) % 8} ${status}`,
          cue: [negated ? entity.assertion : "", ["matched", "plain"].includes(status) ? "" : status].filter(Boolean).join(", "),
        });
        if (span) span.say = [quote(side, span), span.type, entity.assertion, entity.status].filter(Boolean).join(" · ");
        return span;
      });
    }
    for (const link of Array.isArray(evidence.links) ? evidence.links : []) {
      const one = placed.candidate[link?.candidate];
      const two = placed.reference[link?.reference];
      if (!one || !two) continue;
      one.partners.push(two.key);
      two.partners.push(one.key);
      const alike = typeof link.similarity === "number" ? ` (similarity ${link.similarity.toFixed(2)})` : "";
      const note = link.note ? ` · ${link.note}` : "";
      one.say += ` · with ${quote("reference", two)}${alike}${note}`;
      two.say += ` · with ${quote("candidate", one)}${alike}${note}`;
    }
  }
  const sentences = [];
  // Contradictions say all that their sentences would.
  for (const sentence of Array.isArray(evidence.sentences) && !Array.isArray(evidence.contradictions) ? evidence.sentences : []) {
    kinds.add("sentences");
    const value = typeof sentence?.score === "number" ? sentence.score.toFixed(3) : "";
    const span = put(sentence?.side, { start: sentence?.start, end: sentence?.end, css: "sentence", partners: [] });
    if (!span) continue;
    span.cue = String(sentences.length + 1);
    span.say = [`${span.cue}`, value, sentence.note, sentence.note ? "" : quote(sentence.side, span)].filter(Boolean).join(" · ");
    sentences.push({ side: sentence.side, say: [value, sentence.note].filter(Boolean).join(" · "), quote: quote(sentence.side, span), key: span.key });
  }
  for (const one of Array.isArray(evidence.groundings) ? evidence.groundings : []) {
    kinds.add("groundings");
    const value = one?.assessable !== false && typeof one?.calibrated === "number" ? one.calibrated : null;
    // An entity drawn at random has a tenth.
    const css = value == null ? "entity t7 plain" : value < 0.1 ? "entity t1 missed" : value < 0.5 ? "entity t6 hedged" : "entity t2 matched";
    const span = put("candidate", { start: one?.start, end: one?.end, css, partners: [], cue: value == null ? "" : value.toFixed(2) });
    if (span) span.say = [quote("candidate", span), one.assertion, value == null ? `not assessable: ${one.why ?? "no reason given"}` : `grounding ${value.toFixed(2)} of 1`].filter(Boolean).join(" · ");
  }
  for (const [i, one] of (Array.isArray(evidence.contradictions) ? evidence.contradictions : []).entries()) {
    kinds.add("contradictions");
    const ends = ["premise", "hypothesis"].map((name) => put("candidate", { start: one?.[name]?.[0], end: one?.[name]?.[1], css: "sentence", partners: [], cue: String(i + 1) }));
    if (!ends[0] || !ends[1]) continue;
    ends[0].partners.push(ends[1].key);
    ends[1].partners.push(ends[0].key);
    const sure = typeof one.probability === "number" ? `contradiction ${one.probability.toFixed(2)}` : "";
    ends[0].say = ends[1].say = [String(i + 1), sure, one.kind, `${quote("candidate", ends[0])} against ${quote("candidate", ends[1])}`].filter(Boolean).join(" · ");
  }
  const other = Object.fromEntries(Object.entries(evidence).filter(([name]) => !drawn.has(name)));
  return { sides, kinds, sentences, other };
};
