// The case view: scores, the texts side by side with one metric's evidence, source, carried columns.

/** What a row of the case list says below the id. */
const rowNote = (data, one) => data.texts[one.c].slice(0, 160).replace(/\s+/g, " ") || "empty";

const PARTS_IN_TILE = 3;
const TILES = 6; // more of them fold to a line each, so that the texts stay in view

/** measure: gives the number of the field on view, and takes another; the list shows the same one. */
const makeView = (data, panel, go, measure) => {
  let current = null;
  let chosen = null; // index of the metric whose evidence is drawn
  let marked = true; // whether evidence is drawn at all; kept from case to case, as is:
  let unfolded = false;
  let reference = 0;

  const texts = () => ({
    candidate: data.texts[current.c],
    reference: current.r.length ? data.texts[current.r[reference]] : undefined,
    source: current.o == null ? undefined : data.texts[current.o],
  });

  const explained = () => Object.keys(current.e ?? {}).map(Number);

  const partShown = (metric, part, i) => (metric.counts?.[i] && part != null ? String(part) : show(part, metric.ends));

  const tile = ([metric, index]) => {
    const value = metric.of(current);
    const parts = (current.p?.[index] ?? []).slice(0, PARTS_IN_TILE).map((part, i) => h("span", {}, `${metric.parts[i].replaceAll("_", " ")} ${partShown(metric, part, i)}`));
    const inside = [h("span", { class: "name" }, metric.name.split(/(?<=[_(=,])/).flatMap((part) => [part, h("wbr")])), h("span", { class: "value" }, written(metric, value))];
    const why = metric.column ? "none" : current.f?.[index] == null ? `unscored: ${current.u?.[index] ?? "no reason given"}` : `failed: ${current.f[index]}`;
    inside.push(value == null ? h("span", { class: "why" }, why) : metric.numeric ? bar(value, metric.ends) : "");
    if (parts.length) inside.push(h("span", { class: "parts" }, parts));
    const able = explained().includes(index);
    if (able) inside.push(h("span", { class: "shows" }, index === chosen ? "evidence shown" : "show evidence"));
    const press = () => {
      marked = index !== chosen;
      if (index === measure()) draw();
      else measure(index);
      panel.querySelector(`[data-metric="${index}"]`)?.focus();
    };
    return h("button", { type: "button", class: metric.human ? "tile human" : "tile", title: metric.summary, "aria-pressed": String(index === measure()), "data-metric": index, onclick: press }, inside);
  };

  /** The metrics, then what people said: as cards or, where they are many, folded to chips. */
  const tiles = () => {
    const shown = data.fields.map((field, i) => [field, i]).filter(([field, i]) => !field.column || field.human || i === measure());
    const many = shown.length > TILES;
    const turn = () => { unfolded = !unfolded; draw(true); panel.querySelector(".unfold").focus(); };
    const button = many ? h("button", { type: "button", class: "unfold", "aria-expanded": String(unfolded), onclick: turn }, unfolded ? "Fold the scores" : `All ${shown.length} scores and their parts`) : "";
    return h("div", { class: many && !unfolded ? "tiles folded" : "tiles" }, shown.map(tile), button);
  };

  /** Metrics with more parts than a tile holds: all that this case has, unfolded on demand. */
  const allParts = () => data.metrics.flatMap((metric, index) => {
    const parts = current.p?.[index] ?? [];
    if (parts.length <= PARTS_IN_TILE) return [];
    const facts = parts.map((part, i) => (part == null ? "" : h("div", {}, h("dt", {}, metric.parts[i].replaceAll("_", " ")), h("dd", {}, partShown(metric, part, i)))));
    return [h("details", { class: "all-parts" }, h("summary", {}, `All parts of ${metric.name}`), h("dl", { class: "facts" }, facts))];
  });

  const pane = (side, title, text, spans) => {
    const body = h("div", { class: "text", "data-side": side }, text ? markText(text, spans) : h("em", {}, text === "" ? "empty" : "none"));
    const first = body.querySelector("mark");
    if (first) first.tabIndex = 0;
    const head = h("div", { class: "pane-head" }, h("h4", {}, title));
    if (side === "reference" && current.r.length > 1) {
      const pick = h("select", { "aria-label": "Reference shown", onchange: (event) => { reference = Number(event.target.value); draw(true); } },
        current.r.map((_, i) => h("option", { value: i, selected: i === reference }, `${i + 1} of ${current.r.length}`)));
      head.append(pick);
    }
    if (text) head.append(wordCount(text));
    return h("div", { class: "pane" }, head, body);
  };

  const legend = (read) => {
    const items = [];
    if (read.kinds.has("matches") && !read.sides.candidate.length) items.push(h("li", {}, "nothing found in both texts"));
    else if (read.kinds.has("matches")) items.push(h("li", {}, h("mark", { class: "match" }, "marked"), " found in both texts; plain words in this one alone"));
    if (read.kinds.has("entities")) {
      const all = [...read.sides.candidate, ...read.sides.reference].filter((span) => span.type);
      for (const type of new Set(all.map((span) => span.type))) items.push(h("li", {}, h("mark", { class: all.find((span) => span.type === type).css.replace(/ \w+$/, " matched") }, type)));
      for (const status of ["hedged", "missed", "invented", "contradicted"]) {
        const count = all.filter((span) => span.status === status).length;
        if (count) items.push(h("li", {}, h("mark", { class: `entity t7 ${status}` }, status), ` ${count}`));
      }
    }
    if (read.kinds.has("groundings")) for (const [css, words] of [["entity t2 matched", "found in the image"], ["entity t6 hedged", "found weakly"], ["entity t1 missed", "no better than chance"], ["entity t7 plain", "not assessed"]]) items.push(h("li", {}, h("mark", { class: css }, words)));
    if (read.kinds.has("contradictions")) items.push(h("li", {}, h("mark", { class: "sentence" }, "statement", h("span", { class: "cue" }, "1")), " that contradicts the other of its number"));
    if (read.kinds.has("sentences")) items.push(h("li", {}, h("mark", { class: "sentence" }, "sentence", h("span", { class: "cue" }, "1")), " that cost the score"));
    return items.length ? h("ul", { class: "legend", "aria-label": "Legend" }, items) : null;
  };

  const light = (info, mark) => {
    panel.querySelectorAll("mark.lit").forEach((one) => one.classList.remove("lit"));
    if (!mark?.dataset.keys) return;
    const keys = mark.dataset.keys.split(" ");
    const spans = keys.map((key) => info.spans.get(key)).filter(Boolean);
    const all = new Set([...keys, ...spans.flatMap((span) => span.partners)]);
    panel.querySelectorAll("mark[data-keys]").forEach((one) => {
      if (one.dataset.keys.split(" ").some((key) => all.has(key))) one.classList.add("lit");
    });
    info.line.textContent = spans.map((span) => span.say).join("  |  ");
  };

  const step = (event) => {
    if (!["ArrowLeft", "ArrowRight"].includes(event.key) || event.target.tagName !== "MARK") return;
    const marks = [...event.target.closest(".text").querySelectorAll("mark")];
    const next = marks[marks.indexOf(event.target) + (event.key === "ArrowRight" ? 1 : -1)];
    if (!next) return;
    event.preventDefault();
    marks.forEach((one) => { one.tabIndex = -1; });
    next.tabIndex = 0;
    next.focus();
  };

  const body = () => {
    const shown = texts();
    const evidence = chosen == null ? {} : current.e[chosen];
    // Spans speak of one reference; while another is on view its side stays unmarked.
    const scored = evidence.reference ?? 0;
    const read = readEvidence(evidence, { ...shown, reference: current.r.length ? data.texts[current.r[scored] ?? current.r[0]] : undefined }, data.types);
    const line = h("p", { class: "info", "aria-live": "polite" }, [...Object.values(read.sides)].some((side) => side.length) ? "Point at or tap a mark, or move with ← →, to see what it rests on." : "");
    const info = { line, spans: new Map(Object.values(read.sides).flat().map((span) => [span.key, span])) };
    const over = (event) => light(info, event.target.closest?.("mark[data-keys]"));
    const panes = [];
    if (current.r.length) panes.push(pane("reference", "Reference", shown.reference, reference === scored ? read.sides.reference : []));
    panes.push(pane("candidate", "Candidate", shown.candidate, read.sides.candidate));
    const source = shown.source == null ? null : pane("source", "Source", shown.source, read.sides.source);
    if (source && !current.r.length) panes.unshift(source);
    const block = h("div", { class: "evidence", onpointerover: over, onfocusin: over, onkeydown: step },
      h("div", { class: panes.length > 1 ? "panes" : "panes one" }, panes), info.spans.size ? line : null, legend(read));
    if (read.sentences.length) block.append(h("ol", { class: "sentences" }, read.sentences.map((one) => h("li", {}, h("b", {}, one.side), ` ${one.quote}`, one.say ? h("span", { class: "say" }, one.say) : ""))));
    if (Object.keys(read.other).length) block.append(h("details", {}, h("summary", {}, "More evidence, as data"), h("pre", {}, JSON.stringify(read.other, null, 1))));
    if (source && current.r.length) block.append(h("details", { open: read.sides.source.length > 0 }, h("summary", {}, "Source"), source));
    return block;
  };

  const draw = (keepReference = false) => {
    chosen = marked && explained().includes(measure()) ? measure() : null;
    if (!keepReference) reference = chosen == null ? 0 : Math.min(current.e[chosen].reference ?? 0, Math.max(0, current.r.length - 1));
    const later = h("div", { class: "more" });
    panel.replaceChildren(caseHead(data, current, go, data.fields[measure()]), tiles(), body(), ...allParts(), carriedFacts(current) ?? "", later);
    document.dispatchEvent(new CustomEvent("medassay:case", { detail: { case: current, data, panel: later } }));
  };

  return {
    open(one) { current = one; draw(); },
    keys: {
      e: () => {
        const able = explained();
        marked = true;
        if (able.length) measure(able.find((index) => index > measure()) ?? able[0]);
      },
    },
  };
};
