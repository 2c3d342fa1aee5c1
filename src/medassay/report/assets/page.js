// The start: read the data, wire list and view, keys, theme, and links to a case.

const byId = (id) => document.getElementById(id);

/** The page's data: a JSON object, or a string that holds it compressed. */
const readData = async () => {
  const data = JSON.parse(byId("data").textContent);
  if (typeof data !== "string") return data;
  const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
};

const entityTypes = (cases) => {
  const types = new Set();
  for (const one of cases)
    for (const evidence of Object.values(one.e ?? {}))
      for (const side of ["candidate", "reference"])
        for (const entity of Array.isArray(evidence?.entities?.[side]) ? evidence.entities[side] : []) types.add(String(entity?.type ?? "entity"));
  return [...types].sort();
};

/** Parts that are counts, not shares: whole in every case, and beyond the metric's scale in some. */
const markCounts = (data) => {
  data.metrics.forEach((metric, index) => {
    metric.counts = metric.parts.map((_, i) => {
      const values = data.cases.map((one) => one.p?.[index]?.[i]).filter((value) => value != null);
      return values.every(Number.isInteger) && values.some((value) => value > metric.ends[1]);
    });
  });
};

const theme = () => {
  const button = byId("theme");
  const dark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const label = () => { button.textContent = dark() ? "Light" : "Dark"; button.setAttribute("aria-label", `Switch to ${dark() ? "light" : "dark"} colours`); };
  // Storage may be closed to a local file; the choice then lasts as long as the page.
  const remember = (value) => { try { localStorage.setItem("medassay-theme", value); } catch { /* not kept */ } };
  try {
    const kept = localStorage.getItem("medassay-theme");
    if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
  } catch { /* nothing kept */ }
  button.addEventListener("click", () => { document.documentElement.dataset.theme = dark() ? "light" : "dark"; remember(document.documentElement.dataset.theme); label(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
  label();
  button.hidden = false;
};

const start = async () => {
  theme();
  byId("help-open").hidden = false;
  byId("help-open").addEventListener("click", () => byId("help").showModal());
  const data = await readData();
  data.cases.forEach((one, at) => { one.at = at; });
  data.types = entityTypes(data.cases);
  markCounts(data);
  linkCases(data.cases);
  data.fields = readFields(data);
  document.dispatchEvent(new CustomEvent("medassay:ready", { detail: data }));
  if (!data.cases.length) return;
  byId("explorer").hidden = false;

  const address = (one) => `#case=${encodeURIComponent(one.i)}${one.s == null ? "" : `&system=${encodeURIComponent(one.s)}`}`;
  const asked = () => {
    if (!location.hash.startsWith("#case=")) return null;
    const query = new URLSearchParams(location.hash.slice(1));
    const same = data.cases.filter((one) => one.i === query.get("case"));
    return same.find((one) => (one.s ?? null) === query.get("system")) ?? same[0] ?? null;
  };
  const narrow = matchMedia("(max-width: 860px)");
  const view = makeView(data, byId("case"), (where) => (typeof where === "number" ? list.move(where) : list.choose(where, true)), (index) => list.measure(index));
  const list = makeList(data, (one, byHand) => {
    if (!one) return byId("case").replaceChildren(h("p", { class: "note" }, "No case matches the search and the filters."));
    view.open(one);
    if (byHand || location.hash.startsWith("#case=")) history.replaceState(null, "", address(one));
    if (byHand && narrow.matches) byId("case").scrollIntoView({ block: "start" });
  });
  const linked = asked();
  list.choose(linked ?? list.first());
  if (linked) byId("explorer").scrollIntoView({ block: "start" });
  window.addEventListener("hashchange", () => { const one = asked(); if (one) list.choose(one); });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "Escape" && event.target === byId("query")) byId("rows").focus();
    if (typing) return;
    const keys = {
      j: () => list.move(1), k: () => list.move(-1), s: () => list.nextSystem(),
      "/": () => { byId("query").focus(); byId("query").select(); }, "?": () => byId("help").showModal(), ...view.keys,
    };
    if (!Object.hasOwn(keys, event.key) || (event.key === "Enter" && event.target.closest("button, a, summary"))) return;
    event.preventDefault();
    keys[event.key]();
  });
};

start().catch((error) => {
  byId("trouble").hidden = false;
  byId("trouble").textContent = `The cases cannot be shown (${error.message}). A current browser is needed: Chromium 123, Firefox 120 or Safari 17.5, or later.`;
});
