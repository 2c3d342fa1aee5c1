// The case list: search, filters, order; only the rows on view are in the document.

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
  at("metric").append(...data.metrics.map((metric, i) => option(`${i}`, metric.name)));
  at("metric").value = `${data.leading ?? 0}`;
  const twice = new Set(data.cases.map((one) => one.i)).size < data.cases.length;
  at("order").append(option("worst", "worst first"), option("best", "best first"), ...(twice ? [option("gap", "systems furthest apart")] : []), option("file", "as in the file"), option("id", "by id"));
  // Counts of problems can be asked for by name.
  const counts = data.metrics.flatMap((metric, i) => (metric.whole ? [option(`${i}`, `with ${metric.name}`)] : []));
  at("only").append(option("", "all cases"), ...(counts.length ? counts : [option("scored", "scored")]), option("unscored", "unscored"));

  const haystack = (one) => {
    one.hay ??= [one.i, one.s ?? "", data.texts[one.c], ...one.r.map((i) => data.texts[i]), data.texts[one.o] ?? "", ...Object.values(one.x ?? {})].join("\n").toLowerCase();
    return one.hay;
  };

  const gaps = (metric) => {
    const ends = new Map();
    for (const one of data.cases) {
      const value = one.v[metric];
      if (value == null) continue;
      const [low, high] = ends.get(one.i) ?? [value, value];
      ends.set(one.i, [Math.min(low, value), Math.max(high, value)]);
    }
    return (one) => { const [low, high] = ends.get(one.i) ?? [0, 0]; return high - low; };
  };

  const ordered = (cases, metric, order) => {
    if (order === "file") return cases;
    if (order === "id") return cases.sort((a, b) => a.i.localeCompare(b.i, undefined, { numeric: true }) || a.at - b.at);
    const gap = order === "gap" ? gaps(metric) : null;
    if (gap) return cases.sort((a, b) => gap(b) - gap(a) || a.i.localeCompare(b.i) || a.at - b.at);
    const sign = (order === "worst") === data.metrics[metric].higher ? 1 : -1;
    const value = (one) => one.v[metric];
    // Unscored cases have no place among numbers: they close the list.
    return cases.sort((a, b) => (value(a) == null) - (value(b) == null) || sign * ((value(a) ?? 0) - (value(b) ?? 0)) || a.at - b.at);
  };

  const row = (one, position) => {
    const metric = Number(at("metric").value);
    const { ends, whole } = data.metrics[metric];
    const value = one.v[metric];
    const line = h("div", { class: "row", role: "option", id: `row-${one.at}`, "aria-selected": String(one.at === selected), "aria-posinset": position + 1, "aria-setsize": shown.length, onclick: () => choose(one, true) },
      h("b", {}, one.i),
      h("span", { class: value == null ? "value none" : "value" }, value == null ? (one.f?.[metric] == null ? "unscored" : "failed") : show(value, ends, whole)),
      h("span", { class: "snippet" }, data.systems.length > 1 ? systemKey(data, one.s) : "", rowNote(data, one)),
      value == null ? "" : bar(value, ends));
    line.style.transform = `translateY(${position * ROW}px)`;
    return line;
  };

  const paint = () => {
    const first = Math.max(0, Math.floor(rows.scrollTop / ROW) - 6);
    const last = Math.min(shown.length, Math.ceil((rows.scrollTop + rows.clientHeight) / ROW) + 6);
    spacer.style.height = `${shown.length * ROW}px`;
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

  const refresh = () => {
    const words = at("query").value.toLowerCase().split(/\s+/).filter(Boolean);
    const system = at("system").value === "" ? null : data.systems[Number(at("system").value)];
    const metric = Number(at("metric").value);
    const only = at("only").value;
    const kept = data.cases.filter((one) => (system === null || (one.s ?? "") === system)
      && (!only || (data.metrics[Number(only)] ? one.v[Number(only)] > 0 : (only === "scored") === (one.v[metric] != null)))
      && words.every((word) => haystack(one).includes(word)));
    shown = ordered(kept, metric, at("order").value);
    at("count").textContent = `${shown.length.toLocaleString("en")} of ${data.cases.length.toLocaleString("en")} cases`;
    rows.scrollTop = 0;
    paint();
  };

  let waiting = 0;
  at("query").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(refresh, 120); });
  for (const id of ["system", "metric", "order", "only"]) at(id).addEventListener("change", refresh);
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
    const all = data.cases.filter((one) => one.i === now?.i);
    if (all.length > 1) choose(all[(all.indexOf(now) + 1) % all.length], true);
  };

  refresh();
  return { choose, move, nextSystem, first: () => shown[0] };
};
