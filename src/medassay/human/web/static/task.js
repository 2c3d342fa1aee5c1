// The task page: what the annotator does becomes a change, is shown at once, and is sent.

import { Outbox, freshId } from "/static/outbox.js";
import { TextView } from "/static/textview.js";

const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const csrf = document.querySelector("meta[name=csrf]").content;
const kinds = new Map(data.marks.map((kind) => [kind.name, { ...kind, css: `k${kind.look}` }]));
let state = data.state;
let seq = data.seq;
let slot = "1";

// ---- What the answers are: the same arithmetic as on the server ----

const marked = (question, where, all = state.marks) => !question.fedBy ? 0 : all.filter((m) =>
  m.slot === where && m.kind === question.fedBy[0] && (!question.fedBy[1] || m.flags.includes(question.fedBy[1]))).length;

function answer(question, where) {
  const given = (state.answers[where] || {})[question.name];
  if (question.choices.length) return given ?? null;
  const fed = question.fedBy && state.marks.some((m) => m.slot === where && m.kind === question.fedBy[0]);
  if (given === undefined && !fed) return null;
  return Math.max(0, marked(question, where) + (given || 0));
}

const slotOf = (question, where) => (question.per === "case" ? "case" : where);
const answerNamed = (name, where) => {
  const question = data.questions.find((q) => q.name === name);
  return answer(question, slotOf(question, where));
};

function clash(question, where) {
  const value = answer(question, slotOf(question, where));
  if (value === null || question.choices.length) return null;
  const bound = question.within.find((name) => { const limit = answerNamed(name, where); return limit !== null && value > limit; });
  return bound ? `More than “${data.labels[bound]}”` : null;
}

function apply(change) {
  if (change.kind === "mark") {
    const { mark, type, start = 0, end = 0, flags, text } = change;
    if (!state.marks.some((m) => m.id === mark)) state.marks.push({ id: mark, slot: change.slot, kind: type, start, end, flags: [...flags], ...(text ? { text } : {}) });
  } else if (change.kind === "unmark") state.marks = state.marks.filter((m) => m.id !== change.mark);
  else if (change.kind === "flag") {
    const mark = state.marks.find((m) => m.id === change.mark);
    if (mark) mark.flags = mark.flags.filter((f) => f !== change.flag).concat(change.on ? [change.flag] : []);
  } else if (change.kind === "set") {
    const answers = (state.answers[change.slot] ||= {});
    const question = data.questions.find((q) => q.name === change.question);
    if (change.value === null) delete answers[change.question];
    else answers[change.question] = question.choices.length ? change.value : change.value - marked(question, change.slot);
  } else if (change.kind === "comment") state.comments[change.slot] = change.text;
}

// ---- Sending ----

const words = { saved: "Saved", saving: "Saving…" };
const outbox = new Outbox(data.task, csrf, {
  acknowledged(body, event) { adopt(body); if (event.change.kind === "done" && body.next) location.assign(body.next); },
  refused(body, event) { adopt(body); tell(body.message, event.change.kind === "done" ? body.problems : []); },
  state(name, waiting) {
    byId("saved").dataset.state = name;
    byId("saved-text").textContent = words[name] || (name === "out"
      ? "Signed out: open your link again; nothing is lost"
      : `Not saved yet: ${waiting} waiting, trying again`);
  },
});

function adopt(body) {
  if (body.state) {
    if (body.seq > seq + 1 && !body.again) say("Updated with changes from another window.");
    seq = Math.max(seq, body.seq);
    state = body.state;
    for (const event of outbox.queue) apply(event.change); // what the server has not seen yet
  }
  draw();
}

function change(what) {
  if (state.done && what.kind !== "reopen") return say("This task is finished. Reopen it to change an answer.");
  hideNotice();
  apply(what);
  outbox.push(what);
  draw();
}

// ---- Drawing ----

const views = [...document.querySelectorAll(".markable")].map((element) => new TextView(element, (view, text) => {
  if (text) { showPalette(view); spoken(`Selected: ${text}`); } else hidePalette();
}));
const viewOf = (mark) => {
  const kind = kinds.get(mark.kind);
  return views.find((v) => v.side === kind.side && (kind.side === "reference" || v.slot === mark.slot));
};
const visible = (mark) => mark.slot === "case" || mark.slot === slot;

function draw() {
  document.body.classList.toggle("finished", state.done);
  for (const view of views) {
    const own = state.marks.filter((m) => viewOf(m) === view && (view.slot ? m.slot === view.slot : visible(m)));
    view.show(own.filter((m) => !m.text), (m) => kinds.get(m.kind).css);
    view.typed = own.filter((m) => m.text);
  }
  for (const [list, view] of [["reference", views.find((v) => v.side === "reference")], ...data.slots.slice(1).map((s) => [s, views.find((v) => v.slot === s)])]) drawChips(byId(`chips-${list}`), view);
  for (const field of document.querySelectorAll("[data-question]")) drawField(field);
  for (const area of document.querySelectorAll("textarea[data-slot]")) {
    if (document.activeElement !== area) area.value = state.comments[area.dataset.slot] || "";
    area.disabled = state.done;
  }
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const whole = data.questions.filter((q) => q.per !== "case").every((q) => (q.optional || answer(q, tab.dataset.slot) !== null) && !clash(q, tab.dataset.slot));
    const looked = !data.questions.every((q) => q.optional) || state.done;
    tab.classList.toggle("complete", whole && (looked || seen.has(tab.dataset.slot)));
    tab.querySelector(".tick-text").textContent = tab.classList.contains("complete") ? " (answered)" : "";
  }
  const last = slot === data.slots.at(-1);
  byId("next-text").hidden = last || state.done;
  byId("finish").hidden = state.done;
  byId("finish").classList.toggle("strong", last);
  byId("next-text").classList.toggle("strong", !last);
  byId("reopen").hidden = !state.done;
  byId("undo").disabled = byId("redo").disabled = state.done;
}

function drawField(field) {
  const question = data.questions.find((q) => q.name === field.dataset.question);
  const where = field.dataset.slot;
  const value = answer(question, where);
  if (question.choices.length) {
    for (const input of field.querySelectorAll("input")) { input.checked = value !== null && Number(input.value) === value; input.disabled = state.done; }
    return;
  }
  const input = field.querySelector("input");
  if (document.activeElement !== input || !input.dataset.typing) input.value = value ?? "";
  for (const control of field.querySelectorAll("input, button")) control.disabled = state.done;
  const help = field.querySelector(".help");
  help.dataset.usual ??= help.textContent;
  const wrong = where === "case" ? null : clash(question, where);
  const count = marked(question, where);
  help.textContent = wrong || (value !== null && count && value !== count ? `${count} highlighted, ${value} counted` : help.dataset.usual);
  help.classList.toggle("clash", Boolean(wrong));
  field.classList.toggle("wrong", Boolean(wrong));
}

function drawChips(list, view) {
  if (!view) return;
  const focus = list.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
  const own = [...[...view.marks].sort((a, b) => a.start - b.start || a.end - b.end), ...(view.typed || [])];
  const key = JSON.stringify([state.done, own.map((m) => [m.id, m.flags])]);
  if (list.dataset.shown === key) return;
  list.dataset.shown = key;
  list.replaceChildren(...own.map((mark) => chip(mark, view)));
  if (focus) [...list.querySelectorAll("[data-focus]")].find((e) => e.dataset.focus === focus)?.focus();
}

function chip(mark, view) {
  const kind = kinds.get(mark.kind);
  const item = document.createElement("li");
  item.className = kind.flags.length ? `${kind.css} ticks` : kind.css;
  const said = document.createElement("span");
  said.className = "said";
  said.textContent = mark.text || view.excerpt(mark);
  item.append(said);
  if (data.marks.length > 2) { const label = document.createElement("span"); label.className = "kind"; label.textContent = kind.label; item.append(label); }
  for (const flag of kind.flags) {
    const label = document.createElement("label");
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = mark.flags.includes(flag);
    box.disabled = state.done;
    box.dataset.focus = `${mark.id}:${flag}`;
    box.addEventListener("change", () => change({ kind: "flag", mark: mark.id, flag, on: box.checked }));
    label.append(box, data.flags[flag]);
    item.append(label);
  }
  const remove = document.createElement("button");
  remove.type = "button";
  remove.textContent = "×";
  remove.disabled = state.done;
  remove.dataset.focus = `${mark.id}:remove`;
  remove.setAttribute("aria-label", `Remove the highlight “${said.textContent}”`);
  remove.addEventListener("click", () => change({ kind: "unmark", mark: mark.id }));
  item.append(remove);
  item.addEventListener("pointerenter", () => view.light(mark.id, true));
  item.addEventListener("pointerleave", () => view.light(mark.id, false));
  return item;
}

// ---- Highlighting ----

const palette = byId("palette");
const offered = (view) => data.marks.filter((kind) => kind.side === view.side);
let target = null;

function showPalette(view) {
  const range = view.current();
  if (!range || state.done || !offered(view).length) return hidePalette();
  target = view;
  palette.replaceChildren(...offered(view).map((kind, i) => {
    const button = document.createElement("button");
    button.type = "button";
    const key = document.createElement("kbd");
    key.textContent = offered(view).length === 1 ? "Enter" : String(i + 1);
    button.append(kind.label, key);
    button.addEventListener("pointerdown", (event) => event.preventDefault()); // keep the selection
    button.addEventListener("click", () => highlight(view, i));
    return button;
  }));
  palette.hidden = false;
  const box = (view.element.querySelector(".cursor") || { getBoundingClientRect: () => document.getSelection().getRangeAt(0).getBoundingClientRect() }).getBoundingClientRect();
  const size = palette.getBoundingClientRect();
  palette.style.left = `${Math.max(8, Math.min(innerWidth - size.width - 8, box.left))}px`;
  palette.style.top = `${box.bottom + size.height + 70 > innerHeight ? Math.max(8, box.top - size.height - 8) : box.bottom + 8}px`;
}

function hidePalette() { palette.hidden = true; target = null; }

function highlight(view, index) {
  const kind = offered(view)[index];
  const range = view.currentPoints();
  if (!kind || !range) return;
  const where = kind.per === "case" ? "case" : slot;
  if (state.marks.some((m) => m.slot === where && m.kind === kind.name && m.start === range.start && m.end === range.end)) {
    return say("This stretch is highlighted already. Type a number to count it twice.");
  }
  document.getSelection().removeAllRanges();
  view.clear();
  hidePalette();
  change({ kind: "mark", mark: freshId(), slot: where, type: kind.name, flags: [], ...range });
  spoken(`Highlighted as ${kind.label}.`);
}

// ---- Facts in the annotator's own words ----

for (const view of views) {
  const typed = offered(view).filter((kind) => kind.typed);
  if (!typed.length) continue;
  const form = document.createElement("form");
  form.className = "typed-fact";
  const input = document.createElement("input");
  input.type = "text";
  input.maxLength = 300;
  input.autocomplete = "off";
  input.placeholder = "Or type a fact: subject – predicate – object";
  input.setAttribute("aria-label", "A fact in your own words");
  const choose = document.createElement("select");
  choose.setAttribute("aria-label", "Kind of fact");
  choose.append(...typed.map((kind) => new Option(kind.label, kind.name)));
  const add = document.createElement("button");
  add.textContent = "Add";
  form.append(input, choose, add);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = input.value.trim();
    const kind = kinds.get(choose.value);
    const where = kind.per === "case" ? "case" : slot;
    if (!text) return;
    if (state.marks.some((m) => m.slot === where && m.kind === kind.name && m.text === text)) {
      say("This fact is there already. Type a number to count it twice.");
      return;
    }
    change({ kind: "mark", mark: freshId(), slot: where, type: kind.name, flags: [], text });
    if (!state.done) input.value = "";
    spoken(`Added as ${kind.label}.`);
  });
  byId(`chips-${view.slot || "reference"}`).after(form);
}

let settle;
document.addEventListener("selectionchange", () => {
  clearTimeout(settle);
  settle = setTimeout(() => {
    const view = views.find((v) => v.selected());
    if (view) showPalette(view); else if (!views.some((v) => v.cursor)) hidePalette();
  }, 160);
});
addEventListener("scroll", () => { if (target && !target.cursor) showPalette(target); }, { passive: true });

// ---- Answers ----

for (const field of document.querySelectorAll(".count-field")) {
  const { slot: where, question: name } = field.dataset;
  const input = field.querySelector("input");
  const question = data.questions.find((q) => q.name === name);
  const put = (value) => { if (value !== answer(question, where)) change({ kind: "set", slot: where, question: name, value }); else draw(); };
  input.addEventListener("input", () => {
    input.dataset.typing = "yes";
    const text = input.value.trim();
    if (/^\d{1,3}$/.test(text)) put(Number(text));
    else if (text === "") put(null);
    else input.value = text.replace(/\D/g, "");
  });
  input.addEventListener("blur", () => { delete input.dataset.typing; draw(); });
  input.addEventListener("keydown", (event) => {
    const step = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (step) { event.preventDefault(); delete input.dataset.typing; put(Math.max(0, Math.min(999, (answer(question, where) ?? 0) + step))); }
  });
  for (const button of field.querySelectorAll("[data-step]")) {
    button.addEventListener("click", () => put(Math.max(0, Math.min(999, (answer(question, where) ?? (button.dataset.step > 0 ? 0 : 1)) + Number(button.dataset.step)))));
  }
}
for (const input of document.querySelectorAll(".choice-field input")) {
  const { slot: where, question } = input.closest(".choice-field").dataset;
  input.addEventListener("change", () => change({ kind: "set", slot: where, question, value: Number(input.value) }));
}
for (const area of document.querySelectorAll("textarea[data-slot]")) {
  let timer;
  const save = () => { clearTimeout(timer); if ((state.comments[area.dataset.slot] || "") !== area.value) change({ kind: "comment", slot: area.dataset.slot, text: area.value }); };
  area.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(save, 700); });
  area.addEventListener("blur", save);
}

// ---- Going about ----

const seen = new Set(["1"]);
function go(where) {
  if (!data.slots.includes(where) || where === "case") return;
  slot = where;
  seen.add(where);
  hidePalette();
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const on = tab.dataset.slot === slot;
    tab.setAttribute("aria-selected", String(on));
    tab.tabIndex = on ? 0 : -1;
  }
  for (const panel of document.querySelectorAll("[role=tabpanel]")) panel.hidden = panel.dataset.slot !== slot;
  draw();
  history.replaceState(null, "", slot === "1" ? location.pathname : `#text-${slot}`);
}
const step = (by) => go(String(Math.max(1, Math.min(data.slots.length - 1, Number(slot) + by))));

for (const tab of document.querySelectorAll("[role=tab]")) {
  tab.addEventListener("click", () => go(tab.dataset.slot));
  tab.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by) { event.preventDefault(); step(by); document.querySelector("[role=tab][aria-selected=true]").focus(); }
  });
}

const finish = () => { document.activeElement?.blur?.(); outbox.push({ kind: "done" }); };
const undo = (kind) => { if (!state.done) { document.activeElement?.matches?.("input[type=text], textarea") && document.activeElement.blur(); outbox.push({ kind }); } };
byId("undo").addEventListener("click", () => undo("undo"));
byId("redo").addEventListener("click", () => undo("redo"));
byId("next-text").addEventListener("click", () => { step(1); byId("panel-" + slot).scrollIntoView({ block: "nearest" }); });
byId("finish").addEventListener("click", finish);
byId("reopen").addEventListener("click", () => outbox.push({ kind: "reopen" }));
byId("help-open").addEventListener("click", () => byId("help").showModal());

const single = byId("single-keys");
try { single.checked = localStorage.getItem("medassay:keys") !== "off"; } catch { /* kept for this page only */ }
single.addEventListener("change", () => { try { localStorage.setItem("medassay:keys", single.checked ? "on" : "off"); } catch { /* as above */ } });

const keys = {
  n: () => step(1),
  p: () => step(-1),
  s: () => byId("source")?.focus(),
  r: () => byId("reference").focus(),
  t: () => byId("candidate-" + slot).focus(),
  a: () => byId("panel-" + slot).querySelector(".count-field input, .choice-field input:checked, .choice-field input")?.focus(),
  c: () => byId("comment-" + slot).focus(),
  u: () => undo("undo"),
  U: () => undo("redo"),
  f: finish,
  i: () => { byId("guide").open = !byId("guide").open; byId("guide").scrollIntoView({ block: "nearest" }); },
  "?": () => byId("help").showModal(),
};

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  const typing = event.target.matches("input[type=text], textarea, select");
  if (event.key === "Escape") { document.getSelection().removeAllRanges(); hidePalette(); if (typing) event.target.blur(); return; }
  if (typing) return;
  const view = target || views.find((v) => v.selected());
  if (view && (event.key === "Enter" || /^[1-9]$/.test(event.key)) && !event.target.closest("button, a, summary")) {
    event.preventDefault();
    highlight(view, event.key === "Enter" ? 0 : Number(event.key) - 1);
  } else if (!single.checked) {
    return;
  } else if (/^[0-9]$/.test(event.key)) {
    const scale = data.questions.find((q) => q.choices.length > 3 && q.choices.includes(Number(event.key)));
    if (scale) { event.preventDefault(); change({ kind: "set", slot, question: scale.name, value: Number(event.key) }); }
  } else if (event.key in keys) {
    event.preventDefault();
    keys[event.key]();
  }
});

// ---- Telling ----

const spoken = (text) => { byId("spoken").textContent = text; };
const say = (text) => tell(text, []);
function tell(text, problems) {
  const notice = byId("notice");
  notice.replaceChildren(problems.length ? "Before this task can be finished:" : text);
  if (problems.length) {
    const list = document.createElement("ul");
    for (const problem of problems.slice(0, 5)) {
      const item = document.createElement("li");
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = problem.text;
      button.addEventListener("click", () => {
        if (problem.slot !== "case") go(problem.slot);
        document.querySelector(`[data-slot="${problem.slot}"][data-question="${problem.question}"] input`)?.focus();
      });
      item.append(button);
      list.append(item);
    }
    notice.append(list);
    if (problems.length > 5) notice.append(`… and ${problems.length - 5} more.`);
  }
  notice.hidden = false;
  notice.scrollIntoView({ block: "nearest" });
}
function hideNotice() { byId("notice").hidden = true; }

// Back in front (from another tab or device): take over what happened elsewhere.
async function refresh() {
  if (document.hidden || outbox.queue.length) return;
  try {
    const response = await fetch(`/api/tasks/${data.task}`, { credentials: "same-origin" });
    if (response.ok) { const body = await response.json(); if (body.seq !== seq) { seq = body.seq; adopt(body); } }
  } catch { /* offline; the next change will say so */ }
}
document.addEventListener("visibilitychange", refresh);
addEventListener("focus", refresh);
addEventListener("pageshow", (event) => { if (event.persisted) refresh(); });

const wanted = /^#text-(\d+)$/.exec(location.hash);
if (wanted) go(wanted[1]); else draw();
document.body.dataset.ready = "yes";
