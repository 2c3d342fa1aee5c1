// What every page draws texts and cases with. Offsets count characters as Python does; the browser counts UTF-16 units.

/** An element with attributes and children; strings become text, never markup. */
const h = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value == null) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child != null && child !== ""));
  return element;
};

const toUtf16 = (text) => {
  if (!/[\ud800-\udfff]/.test(text)) return (at) => Math.min(Math.max(at, 0), text.length);
  const starts = [];
  let at = 0;
  for (const character of text) {
    starts.push(at);
    at += character.length;
  }
  starts.push(at);
  return (n) => starts[Math.min(Math.max(n, 0), starts.length - 1)];
};

/** A text as nodes: plain stretches, and a mark for each stretch that some span covers. */
const markText = (text, spans) => {
  const at = toUtf16(text);
  const placed = spans.map((span) => ({ ...span, from: at(span.start), to: at(span.end) })).filter((span) => span.to > span.from);
  const cuts = [...new Set([0, text.length, ...placed.flatMap((span) => [span.from, span.to])])].sort((a, b) => a - b);
  const opening = [...placed].sort((a, b) => a.from - b.from);
  const nodes = [];
  let open = [];
  let next = 0;
  for (let i = 0; i + 1 < cuts.length; i += 1) {
    const [from, to] = [cuts[i], cuts[i + 1]];
    open = open.filter((span) => span.to > from);
    while (next < opening.length && opening[next].from <= from) open.push(opening[next++]);
    const piece = text.slice(from, to);
    if (!open.length) {
      nodes.push(piece);
      continue;
    }
    const css = [...new Set(open.flatMap((span) => span.css.split(" ")))].join(" ");
    const cues = open.filter((span) => span.cue && span.to === to).map((span) => h("span", { class: "cue" }, span.cue));
    nodes.push(h("mark", { class: css, tabindex: "-1", "data-keys": open.map((span) => span.key).join(" ") }, piece, cues));
  }
  return nodes;
};

const show = (value, ends, whole = false) => {
  if (value == null) return "–";
  if (whole) return value.toLocaleString("en");
  return value.toFixed(ends[1] - ends[0] < 20 ? 3 : 2).replace("-", "−");
};

/** A bar from the low end of the metric's scale to the value. */
const bar = (value, ends) => {
  const inner = h("span");
  const share = (value - ends[0]) / (ends[1] - ends[0]);
  inner.style.width = `${Math.min(1, Math.max(0, share)) * 100}%`;
  return h("span", { class: "bar", "aria-hidden": "true" }, inner);
};

/** A long name cut in its middle: names of one family differ at their ends. */
const short = (name, most = 34) => (name.length <= most ? name : `${name.slice(0, most - 1 - Math.floor(most / 3))}…${name.slice(-Math.floor(most / 3))}`);

const systemKey = (data, system, most) => {
  const index = data.systems.indexOf(system ?? "");
  return h("span", { class: `chip c${index % 8}`, title: system }, h("span", { class: `dot d${(index + Math.floor(index / 8)) % 4}`, "aria-hidden": "true" }), h("span", {}, short(system || "no system", most)));
};

/** Every case gets `group`, the cases of its item: those of its id or, where no other has it, of its references or source. */
const linkCases = (cases) => {
  const ids = Map.groupBy(cases, (one) => one.i);
  const item = (one) => (ids.get(one.i).length > 1 || !(one.r.length || one.o != null) ? `id ${one.i}` : one.r.length ? `references ${one.r}` : `source ${one.o}`);
  for (const group of Map.groupBy(cases, item).values()) for (const one of group) one.group = group;
};

/** What cases can be ordered and filtered by: the metrics, then every carried column. */
const readFields = (data) => {
  const fields = data.metrics.map((metric, i) => ({ ...metric, numeric: true, of: (one) => one.v[i] }));
  for (const name of new Set(data.cases.flatMap((one) => Object.keys(one.x ?? {})))) {
    const cell = (one) => (one.x && Object.hasOwn(one.x, name) ? one.x[name] : null);
    const cells = data.cases.map(cell).filter((value) => value != null);
    const numeric = cells.every((value) => typeof value !== "boolean" && Number.isFinite(Number(value)) && String(value).trim());
    const numbers = numeric ? cells.map(Number) : [];
    const text = (value) => (typeof value === "object" ? JSON.stringify(value) : String(value));
    fields.push({
      name, numeric, column: true, higher: true, parts: [], whole: numbers.every(Number.isInteger),
      ends: numbers.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [0, 0]),
      human: numeric && /human|expert|rater|rating|score/i.test(name),
      of: (one) => { const value = cell(one); return value == null ? null : numeric ? Number(value) : text(value); },
    });
  }
  return fields;
};

/** A field's value of a case in words. */
const written = (field, value) => (value == null ? "–" : !field.numeric ? value : field.column ? String(value).replace("-", "−") : show(value, field.ends, field.whole));

const LINKS = 3;

/** The other cases of an item: buttons for a few, a list to choose from for more. */
const otherCases = (data, current, go, field) => {
  const all = current.group.slice(0, 200);
  if (all.length < 2) return "";
  const same = all.every((one) => one.i === current.i);
  if (all.length <= LINKS + 1) {
    const links = all.filter((one) => one !== current).map((one) => h("button", { type: "button", onclick: () => go(one) }, systemKey(data, one.s), same ? "" : ` ${short(one.i, 20)}`));
    return h("span", { class: "also" }, same ? "also from " : "same reference ", links);
  }
  const name = (one) => [one.s || (same ? "no system" : ""), same ? "" : one.i, field ? written(field, field.of(one)) : ""].filter(Boolean).join(" · ");
  return h("label", { class: "also" }, `${all.indexOf(current) + 1} of ${current.group.length} of ${same ? "this id" : "this reference"} `,
    h("select", { id: "others", onchange: (event) => go(all[Number(event.target.value)]) }, all.map((one, i) => h("option", { value: i, selected: one === current }, name(one)))));
};

/** The head of a case: id, system, row, the other cases of its item, steps to its neighbours. */
const caseHead = (data, current, go, field) => {
  return h("header", { class: "case-head" },
    h("div", {}, h("h3", { id: "case-title" }, current.i), h("p", { class: "sub" }, data.systems.length > 1 || current.s ? systemKey(data, current.s) : "", h("span", {}, `row ${current.n}`),
      otherCases(data, current, go, field))),
    h("div", { class: "steps" }, h("a", { href: "#cases", class: "back" }, "List"),
      h("button", { type: "button", "aria-label": "Previous case", onclick: () => go(-1) }, "←"),
      h("button", { type: "button", "aria-label": "Next case", onclick: () => go(1) }, "→")));
};

/** The carried columns of a case; null where there are none. */
const carriedFacts = (current) => {
  const facts = Object.entries({ ...(current.m ? { image: current.m } : {}), ...(current.x ?? {}) });
  if (!facts.length) return null;
  return h("dl", { class: "facts" }, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, String(value)))));
};

const wordCount = (text) => h("span", { class: "size" }, `${text.trim().split(/\s+/).filter(Boolean).length} words`);
