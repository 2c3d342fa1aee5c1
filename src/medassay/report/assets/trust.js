// Trust on the case view: the route, where entities were found, what contradicts, how perturbed reports differ.

const SVG = "http://www.w3.org/2000/svg";

const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value == null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(3).filter((child) => child != null && child !== ""));
  return element;
};

const draw = (tag, attributes = {}, ...children) => {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) if (value != null) element.setAttribute(name, value);
  element.append(...children.flat().filter((child) => child != null));
  return element;
};

const two = (value) => (typeof value === "number" ? value.toFixed(2).replace("-", "−") : "–");
const WORDS = { deploy: "✓ Deploy", review: "◔ Review", reject: "✕ Reject", none: "No route" };

const badge = (route) => make("span", { class: `badge ${route in WORDS ? route : "none"}` }, WORDS[route] ?? WORDS.none);

/** Half a ring from 0 to 1, filled up to the value, with a stroke at each threshold. */
const dial = (value, bounds, partial) => {
  const at = (share, radius) => [66 - radius * Math.cos(Math.PI * share), 66 - radius * Math.sin(Math.PI * share)];
  const arc = (to) => { const [x, y] = at(to, 52); return `M14 66A52 52 0 0 1 ${x.toFixed(2)} ${y.toFixed(2)}`; };
  const strokes = bounds.filter((bound) => typeof bound === "number").map((bound) => {
    const [[x1, y1], [x2, y2]] = [at(bound, 44), at(bound, 60)];
    return draw("line", { class: "bound", x1, y1, x2, y2 });
  });
  const number = draw("text", { class: "big", x: 66, y: 62 }, value == null ? (partial ? "partial" : "–") : value.toFixed(3));
  const label = value == null ? (partial ? "trust is partial: no number" : "trust was not assessed") : `trust ${value.toFixed(3)} of 1`;
  return draw("svg", { class: "dial", viewBox: "0 0 132 84", role: "img", "aria-label": label },
    draw("path", { class: "ring", d: arc(1) }), value ? draw("path", { class: "fill", d: arc(Math.min(1, value)) }) : null, ...strokes,
    number, draw("text", { class: "small", x: 14, y: 80 }, "0"), draw("text", { class: "small", x: 66, y: 80 }, "trust"), draw("text", { class: "small", x: 118, y: 80 }, "1"));
};

const routeBlock = (one, value, trust, policy) => {
  const route = trust?.route ?? "none";
  const weighed = ([name]) => trust.weights?.[name.split(" ")[0]] !== 0;
  const missing = Object.entries(trust?.missing ?? {}).filter(weighed).map(([name, why]) => `${name}: ${why}`);
  const known = Object.entries(trust?.dimensions ?? {}).filter(weighed).map(([name, share]) => `${name} ${two(share)}`);
  return make("div", { class: `route ${route}` }, dial(value, [policy.reject, policy.deploy], value == null && missing.length && known.length),
    make("div", { class: "say" }, make("p", {}, badge(route), ` ${trust?.why ?? ""}`),
      missing.length ? make("p", {}, `Partial, so there is no trust value. Not assessed or in part: ${missing.join("; ")}. ${known.length ? `Assessed: ${known.join(", ")}.` : ""}`) : ""));
};

/** What the report comes to beside what the image looks like: organ and process. */
const impressionLines = (impression) => ["organ", "process"].filter((name) => impression?.[name]).map((name) => {
  const { stated, likeliest, relative } = impression[name];
  return make("p", { class: "note" }, `${name === "organ" ? "Organ" : "Process"}: the report states ${stated.join(", ")}; the image looks most like ${likeliest} (fit of what is stated, relative to that: ${two(relative)}).`);
});

const slideBlock = (evidence) => {
  const groundings = Array.isArray(evidence.groundings) ? evidence.groundings : [];
  const { picture } = evidence;
  const width = evidence.width || picture?.width || 1;
  const height = evidence.height || picture?.height || 1;
  const layer = draw("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  const stage = picture ? make("div", { class: "stage" }, make("img", { src: picture.data, alt: "The image that the report is about, made small" })) : null;
  stage?.append(layer);
  const boxes = (one) => (Array.isArray(one?.patches) ? one.patches : []);
  const rect = (patch, css, opacity) => draw("rect", { class: css, x: patch.x, y: patch.y, width: patch.width, height: patch.height, "fill-opacity": opacity });
  const show = (chosen) => {
    const some = chosen == null ? groundings : [groundings[chosen]];
    const cells = new Map();
    const map = chosen == null && Array.isArray(evidence.map) ? evidence.map.map(([x, y, wide, high, fit]) => ({ x, y, width: wide, height: high, similarity: fit })) : [];
    for (const patch of map.length ? map : some.flatMap(boxes)) {
      const key = `${patch.x},${patch.y}`;
      if (!(cells.get(key)?.similarity >= patch.similarity)) cells.set(key, patch);
    }
    const values = [...cells.values()].map((patch) => patch.similarity);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    // One patch has nothing to stand out from.
    const heat = (cells.size > 1 ? [...cells.values()] : []).map((patch) => rect(patch, "heat", (0.6 * (high > low ? (patch.similarity - low) / (high - low) : 1)).toFixed(2)));
    const best = some.filter((one) => boxes(one).length && (chosen != null || one.assessable !== false)).map((one) => boxes(one).reduce((a, b) => (b.similarity > a.similarity ? b : a)));
    layer.replaceChildren(...heat, ...best.flatMap((patch) => [rect(patch, "under"), rect(patch, "box")]));
  };
  let chosen = null;
  const buttons = groundings.map((one, i) => {
    const value = one.assessable !== false && typeof one.calibrated === "number" ? one.calibrated : null;
    const fill = make("span");
    fill.style.width = `${Math.min(1, Math.max(0, value ?? 0)) * 100}%`;
    return make("button", { type: "button", "aria-pressed": "false", disabled: !boxes(one).length, onclick: () => {
      chosen = chosen === i ? null : i;
      buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(k === chosen)));
      show(chosen);
    } }, make("span", {}, one.text ?? "", one.assertion && one.assertion !== "present" ? make("small", {}, ` ${one.assertion}`) : ""),
    make("b", {}, value == null ? "" : two(value)),
    value == null ? make("span", { class: "off" }, `not assessed: ${one.why ?? "no reason given"}`) : make("span", { class: "bar", "aria-hidden": "true" }, fill),
    typeof one.similarity === "number" ? make("small", {}, `similarity ${two(one.similarity)}`) : "");
  });
  show(null);
  const heatBox = make("input", { type: "checkbox", checked: true, onchange: (event) => stage.classList.toggle("no-heat", !event.target.checked) });
  return make("div", { class: "trust-block" }, make("h4", {}, "Where it was looked for"), evidence.warning ? make("p", { class: "note" }, `Warning: ${evidence.warning}`) : "",
    impressionLines(evidence.impression),
    make("div", { class: "slide" }, stage ? make("div", {}, stage, make("div", { class: "slide-tools" }, make("label", {}, heatBox, " heat map"),
      make("span", {}, "Frames: the best patch of an entity. Yellow: the stronger, the better a patch fits."))) : make("p", { class: "note" }, evidence.pictureNote ?? "No picture is carried for this case."),
    buttons.length ? make("ul", { class: "found" }, buttons.map((button) => make("li", {}, button))) : make("p", { class: "note" }, "No entity was assessed.")));
};

const logicBlock = (evidence, text) => {
  const letters = [...text];
  const quote = (span) => make("q", {}, Array.isArray(span) ? letters.slice(span[0], span[1]).join("").replace(/\s+/g, " ").trim() : "");
  return make("div", { class: "trust-block" }, make("h4", {}, evidence.contradictions.length === 1 ? "A contradiction" : "Contradictions"),
    make("ol", { class: "against" }, evidence.contradictions.map((one) => make("li", {}, quote(one.premise), make("span", { class: "versus-word" }, "against"), quote(one.hypothesis),
      make("small", {}, [typeof one.probability === "number" ? `p(contradiction) ${two(one.probability)}` : "", one.kind, one.by ? `found by ${one.by}` : ""].filter(Boolean).join(" · "))))));
};

/** Words of both texts in one sequence: kept, taken out, put in (longest common subsequence). */
const difference = (before, after) => {
  const [a, b] = [before, after].map((text) => text.trim().match(/\S+\s*/g) ?? []);
  if (a.length * b.length > 4e6) return null;
  const [m, n] = [a.length, b.length];
  const table = new Uint16Array((m + 1) * (n + 1));
  const at = (i, j) => i * (n + 1) + j;
  const same = (i, j) => a[i].trimEnd() === b[j].trimEnd();
  for (let i = m - 1; i >= 0; i -= 1) for (let j = n - 1; j >= 0; j -= 1) table[at(i, j)] = same(i, j) ? table[at(i + 1, j + 1)] + 1 : Math.max(table[at(i + 1, j)], table[at(i, j + 1)]);
  const out = [];
  const put = (kind, word) => { const last = out[out.length - 1]; if (last?.[0] === kind) last[1] += word; else out.push([kind, word]); };
  let [i, j] = [0, 0];
  while (i < m || j < n) {
    if (i < m && j < n && same(i, j)) { put("", a[i].length > b[j].length ? a[i] : b[j]); i += 1; j += 1; }
    else if (i < m && (j === n || table[at(i + 1, j)] >= table[at(i, j + 1)])) { put("del", a[i]); i += 1; }
    else { put("ins", b[j]); j += 1; }
  }
  // Inside one change, what was taken out comes before what was put in.
  const tidy = [];
  for (let k = 0; k < out.length;) {
    if (!out[k][0]) { tidy.push(out[k]); k += 1; continue; }
    const change = { del: "", ins: "" };
    for (; k < out.length && out[k][0]; k += 1) change[out[k][0]] += out[k][1];
    tidy.push(...Object.entries(change).filter(([, words]) => words).map(([kind, words]) => [kind, `${words.trimEnd()} `]));
  }
  return tidy;
};

const stabilityBlock = (evidence, candidate) => {
  const titles = { stain: "On perturbed stains", attack: "Under a false history" };
  const panes = Object.entries(titles).map(([name, title]) => {
    const report = evidence.reports?.[name];
    if (report == null) return null;
    const value = evidence.stability?.[name];
    const words = report.trim() ? difference(candidate, report) ?? [["", report]] : null;
    const changed = words?.some(([kind, word]) => kind && word.trim());
    const body = words == null ? make("em", {}, evidence.reports[`${name}_error`] || "The generation failed: no report.")
      : words.map(([kind, word]) => (kind ? make(kind, {}, word) : word));
    return make("div", { class: "pane" }, make("div", { class: "pane-head" }, make("h4", {}, title), make("span", { class: "size" }, typeof value === "number" ? `same by ${two(value)} of 1` : "")),
      name === "attack" && evidence.reports.history ? make("p", { class: "told" }, "Told: ", evidence.reports.history) : "",
      words && !changed ? make("p", { class: "told" }, "Word for word the same.") : "", make("div", { class: "text" }, body));
  }).filter(Boolean);
  return panes.length ? make("div", { class: "trust-block" }, make("h4", {}, "The report again"), make("div", { class: "diffs" }, panes),
    make("p", { class: "note" }, make("del", {}, "Taken out"), " and ", make("ins", {}, "put in"), " against the report under judgement.")) : null;
};

document.addEventListener("medassay:case", ({ detail: { case: one, data, panel } }) => {
  const index = Object.fromEntries(data.metrics.map((metric, i) => [metric.name.split("(")[0], i]));
  const evidence = (name) => one.e?.[index[name]] ?? {};
  const text = data.texts[one.c];
  const policy = data.sections.routes ?? {};
  const trust = evidence("trust").trust ?? { route: one.x?.route ?? "none" };
  panel.parentElement.querySelector(".case-head")?.after(routeBlock(one, one.v[index.trust], trust, policy));
  const grounding = evidence("grounding");
  if (grounding.groundings || grounding.picture || grounding.pictureNote) panel.append(slideBlock(grounding));
  if (Array.isArray(evidence("logic").contradictions) && evidence("logic").contradictions.length) panel.append(logicBlock(evidence("logic"), text));
  const again = evidence("stability").reports ? stabilityBlock(evidence("stability"), text) : null;
  if (again) panel.append(again);
});
