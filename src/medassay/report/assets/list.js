// The case list: search, filters, order; only the rows on view are in the document. Its metric is that of the reader.

const ROW = 68;

const makeList = (data, open) => {
  const at = (id) => document.getElementById(id);
  const rows = at("rows");
  const spacer = at("spacer");
  let shown = [];
  let selected = -1;

  const option = (value, text) => h("option", { value }, text);
  at("system").append(option("", "all"), ...data.systems.map((name, i) => option(`${i}`, name || "no system")));
  at("system-box").hidden = data.systems.length < 2;
  const fields = data.fields;
  const numbered = fields.map((field, i) => [field, option(`${i}`, field.name)]);
  const columns = numbered.filter(([field]) => field.column).map(([, one]) => one);
  at("metric").append(...numbered.filter(([field]) => !field.column).map(([, one]) => one));
  if (columns.length) at("metric").append(h("optgroup", { label: "columns" }, columns));
  at("metric").value = `${data.leading ?? Math.max(0, fields.findIndex((_, i) => data.cases.some((one) => one.e?.[i])))}`;
  at("column").append(option("", "no column"), ...columns.map((one) => one.cloneNode(true)));
  document.querySelectorAll(".column-box").forEach((box) => { box.hidden = !columns.length; });
  const twice = data.cases.some((one) => one.group.length > 1);
  at("order").append(option("worst", "worst first"), option("best", "best first"), ...(twice ? [option("gap", "systems furthest apart")] : []), option("file", "as in the file"), option("id", "by id"));
  // Counts of problems can be asked for by name.
  const counts = data.metrics.flatMap((metric, i) => (metric.whole ? [option(`${i}`, `with ${metric.name}`)] : []));
  at("only").append(option("", "all cases"), ...(counts.length ? counts : [option("scored", "scored")]), option("unscored", "unscored"));

  const haystack = (one) => {
    one.hay ??= [one.i, one.s ?? "", data.texts[one.c], ...one.r.map((i) => data.texts[i]), data.texts[one.o] ?? "", ...Object.values(one.x ?? {})].join("\n").toLowerCase();
    return one.hay;
  };

  const gaps = (field) => {
    const ends = new Map();
    for (const one of data.cases) {
      const value = field.of(one);
      if (value == null || !field.numeric) continue;
      const [low, high] = ends.get(one.group) ?? [value, value];
      ends.set(one.group, [Math.min(low, value), Math.max(high, value)]);
    }
    return (one) => { const [low, high] = ends.get(one.group) ?? [0, 0]; return high - low; };
  };

  const ordered = (cases, field, order) => {
    if (order === "file") return cases;
    if (order === "id") return cases.sort((a, b) => a.i.localeCompare(b.i, undefined, { numeric: true }) || a.at - b.at);
    const gap = order === "gap" ? gaps(field) : null;
    if (gap) return cases.sort((a, b) => gap(b) - gap(a) || a.group[0].at - b.group[0].at || a.at - b.at);
    const sign = (order === "worst") === field.higher ? 1 : -1;
    const compare = field.numeric ? (a, b) => a - b : (a, b) => a.localeCompare(b, undefined, { numeric: true });
    const value = new Map(cases.map((one) => [one, field.of(one)]));
    const both = (a, b) => (a == null || b == null ? (a == null) - (b == null) : sign * compare(a, b));
    // Unscored cases have no place among numbers: they close the list.
    return cases.sort((a, b) => both(value.get(a), value.get(b)) || a.at - b.at);
  };

  const row = (one, position) => {
    const metric = Number(at("metric").value);
    const field = fields[metric];
    const value = field.of(one);
    const line = h("div", { class: "row", role: "option", id: `row-${one.at}`, "aria-selected": String(one.at === selected), "aria-posinset": position + 1, "aria-setsize": shown.length, onclick: () => choose(one, true) },
      h("b", {}, one.i),
      h("span", { class: value == null ? "value none" : "value" }, value == null ? (field.column ? "none" : one.f?.[metric] == null ? "unscored" : "failed") : written(field, value)),
      h("span", { class: "snippet" }, data.systems.length > 1 ? systemKey(data, one.s, 20) : "", rowNote(data, one)),
      value == null || !field.numeric ? "" : bar(value, field.ends));
    line.style.transform = `translateY(${position * ROW}px)`;
    return line;
  };

  const paint = () => {
    const first = Math.max(0, Math.floor(rows.scrollTop / ROW) - 6);
    const last = Math.min(shown.length, Math.ceil((rows.scrollTop + rows.clientHeight) / ROW) + 6);
    spacer.replaceChildren(...shown.slice(first, last).map((one, i) => row(one, first + i)));
    if (selected >= 0) rows.setAttribute("aria-activedescendant", `row-${selected}`);
  };

  const reveal = () => {
    const position = shown.findIndex((one) => one.at === selected);
    if (position < 0) return;
    if (position * ROW < rows.scrollTop) rows.scrollTop = position * ROW;
    else if ((position + 1) * ROW > rows.scrollTop + rows.clientHeight) rows.scrollTop = (position + 1) * ROW - rows.clientHeight;
  };

  const choose = (one, byHand = false) => {
    selected = one.at;
    reveal();
    paint();
    open(one, byHand);
  };

  /** Whether a cell is what the filter asks for: a comparison (> 3), the whole cell (= text, or one of those listed), else a part of it. */
  const asked = (field, wanted) => {
    const [, sign, rest] = /^\s*(<=|>=|<|>|=)\s*(.*?)\s*$/.exec(wanted) ?? [];
    const tests = { "<": (a, b) => a < b, ">": (a, b) => a > b, "<=": (a, b) => a <= b, ">=": (a, b) => a >= b, "=": (a, b) => a === b };
    if (sign && sign !== "=" && !rest) return () => true; // still being typed
    if (sign && field.numeric && rest) return (one) => field.of(one) != null && tests[sign](field.of(one), Number(rest));
    const text = (one) => String(field.of(one) ?? "");
    if (sign === "=" || listed.has(wanted)) return (one) => text(one) === (sign ? rest : wanted);
    return (one) => text(one).toLowerCase().includes(wanted.toLowerCase());
  };

  let listed = new Set();
  const listValues = () => {
    const field = fields[Number(at("column").value)];
    const values = at("column").value === "" ? [] : [...new Set(data.cases.map((one) => field.of(one)))].filter((value) => value != null);
    listed = new Set(values.map(String));
    at("value").value = "";
    at("values").replaceChildren(...[...listed].sort((a, b) => a.localeCompare(b, undefined, { numeric: true })).slice(0, 200).map((value) => h("option", { value })));
  };

  const filter = () => {
    const words = at("query").value.toLowerCase().split(/\s+/).filter(Boolean);
    const system = at("system").value === "" ? null : data.systems[Number(at("system").value)];
    const field = fields[Number(at("metric").value)];
    const only = at("only").value;
    const holds = at("column").value === "" || !at("value").value ? () => true : asked(fields[Number(at("column").value)], at("value").value);
    const kept = data.cases.filter((one) => (system === null || (one.s ?? "") === system)
      && holds(one) && (!only || (data.metrics[Number(only)] ? one.v[Number(only)] > 0 : (only === "scored") === (field.of(one) != null)))
      && words.every((word) => haystack(one).includes(word)));
    shown = ordered(kept, field, at("order").value);
    spacer.style.height = `${shown.length * ROW}px`;
    for (const [i, word] of (field.column ? ["lowest", "highest"] : ["worst", "best"]).entries()) at("order").options[i].text = `${word} first`;
    at("count").textContent = `${shown.length.toLocaleString("en")} of ${data.cases.length.toLocaleString("en")} cases`;
  };

  /** After a change of the controls: the reader stays with its case where it is still listed, else (or with `first`) takes the first. */
  const refresh = (first = false) => {
    filter();
    rows.scrollTop = 0;
    const still = !first && shown.find((one) => one.at === selected);
    if (shown.length) choose(still || shown[0]);
    else { paint(); open(null); }
  };

  /** The field on view, by number; another one is chosen by giving it. */
  const measure = (index) => {
    if (index === undefined) return Number(at("metric").value);
    at("metric").value = `${index}`;
    refresh();
    return index;
  };

  let waiting = 0;
  for (const id of ["query", "value"]) at(id).addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(refresh, 120); });
  at("column").addEventListener("change", () => { listValues(); refresh(); });
  for (const id of ["system", "only"]) at(id).addEventListener("change", () => refresh());
  for (const id of ["metric", "order"]) at(id).addEventListener("change", () => refresh(true));
  rows.addEventListener("scroll", () => requestAnimationFrame(paint), { passive: true });
  rows.addEventListener("keydown", (event) => {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8, Home: -shown.length, End: shown.length };
    if (!(event.key in steps)) return;
    event.preventDefault();
    move(steps[event.key]);
  });
  new ResizeObserver(paint).observe(rows);

  const move = (by) => {
    if (!shown.length) return;
    const now = shown.findIndex((one) => one.at === selected);
    const next = now < 0 ? (by > 0 ? 0 : shown.length - 1) : Math.min(shown.length - 1, Math.max(0, now + by));
    choose(shown[next], true);
  };

  const nextSystem = () => {
    const now = data.cases[selected];
    const all = now?.group ?? [];
    if (all.length > 1) choose(all[(all.indexOf(now) + 1) % all.length], true);
  };

  filter();
  return { choose, move, nextSystem, measure, first: () => shown[0] };
};
