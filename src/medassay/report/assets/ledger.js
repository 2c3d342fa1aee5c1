// The case view of `medassay check`: texts side by side, verdicts in the margin, and the words that decide them.

const SIDES = ["candidate", "reference", "source"];
const VERDICTS = ["supported", "not_stated", "contradicted"];
const NAMES = { supported: "supported", not_stated: "unsupported", contradicted: "wrong", stated: "stated", missed: "missing", misstated: "misstated" };
const FILTERS = ["", "wrong", "unsupported", "missing", "critical"];

/** A verdict as a shape: a tick, a cross in a square, a question mark in a diamond, a dash in a ring. */
const sign = (look, critical = false) => h("i", { class: `sign v-${look}${critical ? " critical" : ""}`, "aria-hidden": "true" });

/** The statements of a case as objects, from the short lists of the data. */
const readItems = (rows) => rows.map((row, at) => {
  const [of, start, end, text, against, verdict, p, from, to, kind, critical, ...others] = row;
  const own = of === 0;
  const look = own ? VERDICTS[verdict] : ["stated", "missed", "misstated"][verdict];
  const item = { at, of: SIDES[of], start, end, text, against: SIDES[against], look, p: p[verdict], from, to, kind, critical: critical === 1, name: NAMES[look] };
  item.others = others.map(([side, v, q]) => `${SIDES[side]}: ${NAMES[VERDICTS[v]]} (${q[v].toFixed(2)})`);
  item.problem = ["contradicted", "not_stated", "missed"].includes(look);
  return item;
});

const matches = (item, filter) => {
  if (!filter) return true;
  if (filter === "critical") return item.critical && item.problem;
  return item.name === filter || (filter === "wrong" && item.look === "misstated");
};

const rowNote = (data, one) => {
  if (one.e?.[0] == null) return data.texts[one.c].slice(0, 160).replace(/\s+/g, " ") || "empty";
  const looks = ["", "contradicted", "not_stated", "missed"];
  const counts = looks.flatMap((look, i) => (look && one.v[i] ? [h("span", { class: "tally", title: NAMES[look] }, sign(look), String(one.v[i]), h("span", { class: "unseen" }, ` ${NAMES[look]} `))] : []));
  if (one.v[4]) counts.push(h("span", { class: "tally", title: "critical" }, h("b", { class: "bang" }, "!"), String(one.v[4]), h("span", { class: "unseen" }, " critical")));
  return h("span", { class: "tallies" }, counts.length ? counts : [sign("supported"), "no problem"]);
};

const makeView = (data, panel, go) => {
  let current = null;
  let items = [];
  let selected = -1;
  let filter = ""; // kept from case to case
  let parts = {};
  const resized = new ResizeObserver(() => placeFlags());

  const quote = (side, from, to) => {
    const at = parts.at[side];
    const words = parts.texts[side].slice(at(from), at(to)).replace(/\s+/g, " ").trim();
    return words.length > 300 ? `${words.slice(0, 298)}…` : words;
  };

  const describe = (item) => [item.name, item.problem || item.look === "misstated" ? item.kind : "", item.critical ? "critical" : "", `p ${item.p.toFixed(2)}`].filter(Boolean).join(" · ");

  const reason = (item) => {
    if (item.to > item.from) return [`${item.against}: `, h("q", {}, quote(item.against, item.from, item.to))];
    if (item.look === "missed") return ["the candidate does not state it"];
    return [parts.texts.reference != null && parts.texts.source != null ? "neither reference nor source says anything of it" : `the ${item.against} says nothing of it`];
  };

  /** Every flag beside the line its statement begins in: in the column next to the text, else in the outer one, else lower. */
  const placeFlags = () => {
    for (const body of panel.querySelectorAll(".text[data-side]")) {
      const free = [0, 0];
      const flags = [...body.querySelectorAll(".flag")].filter((flag) => !flag.hidden);
      const tops = flags.map((flag) => parts.firsts.get(flag.dataset.key)?.offsetTop ?? 0);
      const height = flags[0]?.offsetHeight ?? 0;
      flags.forEach((flag, i) => {
        const column = free[0] <= tops[i] ? 0 : free[1] <= tops[i] || free[1] < free[0] ? 1 : 0;
        const top = Math.max(tops[i], free[column]);
        flag.style.top = `${top}px`;
        flag.classList.toggle("outer", column === 1);
        free[column] = top + height;
      });
      body.style.minHeight = `${Math.max(...free)}px`;
    }
  };

  const pane = (side, title, text) => {
    const own = items.filter((item) => item.of === side);
    const spans = own.map((item) => ({ start: item.start, end: item.end, key: `s${item.at}`, css: `said v-${item.look}${item.critical ? " critical" : ""}`, cue: item.problem || item.look === "misstated" ? [item.critical ? "critical" : "", item.name].filter(Boolean).join(" ") : "" }));
    for (const item of items) if (item.against === side && item.to > item.from) spans.push({ start: item.from, end: item.to, key: `b${item.at}`, css: "basis" });
    const flag = (item) => h("button", { type: "button", class: "flag", tabindex: "-1", "data-key": `s${item.at}`, "aria-label": `${describe(item)}: ${item.text}`, title: describe(item), onclick: () => select(item.at, true) }, sign(item.look, item.critical));
    for (const item of own) parts.flags.set(item.at, flag(item));
    const click = (event) => {
      const keys = event.target.closest("mark[data-keys]")?.dataset.keys.split(" ") ?? [];
      const own = keys.filter((key) => key[0] === "s").map((key) => items[Number(key.slice(1))]).filter((item) => matches(item, filter));
      // Of several statements at one place the shortest is meant.
      own.sort((a, b) => a.end - a.start - (b.end - b.start));
      if (own.length) select(own[0].at, true);
    };
    const body = h("div", { class: "text", "data-side": side, onclick: click }, text ? markText(text, spans) : h("em", {}, "empty"), own.map((item) => parts.flags.get(item.at)));
    body.querySelectorAll("mark").forEach((mark) => mark.removeAttribute("tabindex"));
    body.querySelectorAll("mark.said").forEach((mark) => { for (const key of mark.dataset.keys.split(" ")) if (!parts.firsts.has(key)) parts.firsts.set(key, mark); });
    resized.observe(body);
    const head = h("div", { class: "pane-head" }, h("h4", {}, title), text ? wordCount(text) : "");
    return h("section", { class: "pane", "aria-label": title }, head, h("div", { class: "pane-body", tabindex: "0", role: "region", "aria-label": `${title}, text` }, body));
  };

  const chips = () => h("div", { class: "filters", role: "group", "aria-label": "Statements shown" }, FILTERS.map((name) => {
    const look = { wrong: "contradicted", unsupported: "not_stated", missing: "missed" }[name];
    const number = items.filter((item) => matches(item, name)).length;
    return h("button", { type: "button", class: "filter", "data-filter": name, "aria-pressed": String(name === filter), onclick: () => show_only(name) }, look ? sign(look) : "", name === "critical" ? h("b", { class: "bang", "aria-hidden": "true" }, "!") : "", name || "all", h("span", { class: "number" }, String(number)));
  }));

  const row = (item) => h("div", { class: "statement", role: "option", id: `statement-${item.at}`, "aria-selected": "false", "data-at": item.at, onclick: () => select(item.at, true) },
    sign(item.look, item.critical),
    h("div", {}, h("p", {}, item.text), h("p", { class: "why" }, h("b", { class: `word v-${item.look}` }, item.name), ` in the ${item.of} · `, describe(item).split(" · ").slice(1).join(" · "), " · ", ...reason(item))));

  const show_only = (name) => {
    filter = name;
    panel.querySelectorAll(".filter").forEach((one) => one.setAttribute("aria-pressed", String(one.dataset.filter === filter)));
    for (const item of items) {
      const hidden = !matches(item, filter);
      parts.rows[item.at].hidden = hidden;
      parts.flags.get(item.at).hidden = hidden;
    }
    // A mark stays drawn while one of its statements is shown.
    panel.querySelectorAll("mark.said").forEach((mark) => {
      const own = mark.dataset.keys.split(" ").filter((key) => key[0] === "s").map((key) => items[Number(key.slice(1))]);
      mark.classList.toggle("off", !own.some((item) => matches(item, filter)));
    });
    const left = items.filter((item) => matches(item, filter)).length;
    parts.none.hidden = left > 0;
    if (selected >= 0 && !matches(items[selected], filter)) clear();
    placeFlags();
  };

  const clear = () => {
    selected = -1;
    panel.querySelectorAll(".lit, .decides").forEach((one) => one.classList.remove("lit", "decides"));
    panel.querySelectorAll('.statement[aria-selected="true"]').forEach((one) => one.setAttribute("aria-selected", "false"));
    parts.list.removeAttribute("aria-activedescendant");
    parts.info.hidden = true;
  };

  const inView = (element, block = "nearest") => element?.scrollIntoView({ block, inline: "nearest", behavior: "auto" });

  /** Scroll an element to the middle of its own pane, and leave the page where it is. */
  const inPane = (element) => {
    const box = element?.closest(".pane-body");
    if (!box || box.scrollHeight <= box.clientHeight) return;
    const top = element.getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop;
    box.scrollTop = Math.max(0, top - box.clientHeight / 3);
  };

  const select = (at, jump = false) => {
    clear();
    const item = items[at];
    selected = at;
    panel.querySelectorAll(`mark[data-keys~="s${at}"]`).forEach((mark) => mark.classList.add("lit"));
    parts.flags.get(at).classList.add("lit");
    panel.querySelectorAll(`mark[data-keys~="b${at}"]`).forEach((mark) => mark.classList.add("decides"));
    const line = parts.rows[at];
    line.setAttribute("aria-selected", "true");
    parts.list.setAttribute("aria-activedescendant", line.id);
    if (line.offsetTop < parts.list.scrollTop) parts.list.scrollTop = line.offsetTop;
    else if (line.offsetTop + line.offsetHeight > parts.list.scrollTop + parts.list.clientHeight) parts.list.scrollTop = line.offsetTop + line.offsetHeight - parts.list.clientHeight;
    tell(item);
    inPane(panel.querySelector(`mark[data-keys~="s${at}"]`));
    if (jump) inPane(panel.querySelector("mark.decides"));
  };

  const tell = (item) => {
    const words = item.others.length ? h("span", { class: "others" }, item.others.join(" · ")) : "";
    const button = item.to > item.from ? h("button", { type: "button", onclick: reach }, "Go to the words") : "";
    parts.info.replaceChildren(
      h("p", {}, sign(item.look, item.critical), h("b", {}, describe(item)), " ", item.text),
      h("p", { class: "why" }, ...reason(item), " ", words, " ", button));
    parts.info.hidden = false;
  };

  /** To the words that decide the selected statement: in their pane, and on the page where panes are stacked. */
  const reach = () => {
    const mark = panel.querySelector("mark.decides") ?? panel.querySelector("mark.lit");
    inPane(mark);
    inView(mark, "center");
  };

  const move = (by) => {
    const able = items.filter((item) => matches(item, filter));
    if (!able.length) return;
    const now = able.findIndex((item) => item.at === selected);
    const next = now < 0 ? (by > 0 ? 0 : able.length - 1) : Math.min(able.length - 1, Math.max(0, now + by));
    select(able[next].at, true);
  };

  const step = (event) => {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8, Home: -items.length, End: items.length };
    if (event.key in steps) move(steps[event.key]);
    else if (event.key === "Enter") reach();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const draw = () => {
    resized.disconnect();
    selected = -1;
    const ledger = current.e?.[0] ?? null;
    items = ledger ? readItems(ledger.s ?? []) : [];
    const texts = { candidate: data.texts[current.c], reference: current.r.length ? data.texts[current.r[ledger?.reference ?? 0]] : undefined, source: current.o == null ? undefined : data.texts[current.o] };
    const there = SIDES.filter((side) => texts[side] != null);
    parts = { texts, at: Object.fromEntries(there.map((side) => [side, toUtf16(texts[side])])), firsts: new Map(), flags: new Map(), info: h("div", { class: "info", "aria-live": "polite", hidden: true }), none: h("p", { class: "note", hidden: true }, "No such statement in this case.") };
    parts.rows = items.map(row);
    const several = current.r.length > 1 ? ` ${(ledger?.reference ?? 0) + 1} of ${current.r.length}` : "";
    const titles = { candidate: "Candidate", reference: `Reference${several}`, source: "Source" };
    const panes = h("div", { class: `panes n${there.length}` }, there.map((side) => pane(side, titles[side], texts[side])));
    const order = [...items].sort((a, b) => b.problem - a.problem || b.critical - a.critical || a.at - b.at);
    parts.list = h("div", { class: "statements", role: "listbox", tabindex: "0", "aria-label": "Statements", onkeydown: step }, parts.rows);
    const notes = [];
    if (current.u?.[0] != null) notes.push(h("p", { class: "note" }, `Not judged: ${current.u[0]}.`));
    else if (!ledger || ledger.s == null) notes.push(h("p", { class: "note" }, "The statements of this case are in the file of statements only."));
    if (ledger?.cut) notes.push(h("p", { class: "note" }, `Judged as far as the first 2,000 statements: ${ledger.cut.join(", ")}.`));
    panel.replaceChildren(...[caseHead(data, current, go), ...notes, items.length ? chips() : "", panes, parts.info, parts.none, items.length ? h("h4", { class: "list-title" }, "Statements") : "", items.length ? parts.list : "", carriedFacts(current) ?? ""].filter((one) => one !== ""));
    if (items.length) show_only(filter);
    const first = order.find((item) => item.problem && matches(item, filter));
    if (first) select(first.at, true);
  };

  return {
    open(one) { current = one; draw(); },
    keys: {
      j: () => move(1), k: () => move(-1), Enter: reach, n: () => go(1), p: () => go(-1),
      f: () => { if (items.length) show_only(FILTERS[(FILTERS.indexOf(filter) + 1) % FILTERS.length]); },
    },
  };
};
