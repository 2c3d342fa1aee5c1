// The task page: what the annotator does becomes a change, is shown at once, and is sent.

import { Answers } from "/static/answers.js";
import { Draft } from "/static/draft.js";
import { Highlights } from "/static/highlights.js";
import { Outbox, freshId } from "/static/outbox.js";
import { Search, linkScrolling } from "/static/panes.js";
import { Sheet } from "/static/sheet.js";

const byId = (id) => document.getElementById(id);
const all = (css) => [...document.querySelectorAll(css)];
const data = JSON.parse(byId("data").textContent);
const letter = (where) => `Text ${String.fromCharCode(64 + Number(where))}`;
const sheet = new Sheet(data);
let confirmed = structuredClone(data.state); // as the server last told it
let slot = "1";

// ---- Telling ----

const spoken = (text) => { byId("spoken").textContent = text; };
const say = (text) => tell(text);
function tell(text, items = []) {
  const notice = byId("notice");
  delete notice.dataset.about;
  notice.replaceChildren(text);
  const list = document.createElement("ul");
  for (const { text: shown, buttons, go } of items.slice(0, 6)) {
    const item = document.createElement("li");
    if (go) item.append(button(shown, go, "link")); else item.append(shown, " ");
    for (const [label, act] of buttons || []) item.append(button(label, act), " ");
    list.append(item);
  }
  if (items.length) notice.append(list);
  if (items.length > 6) notice.append(`… and ${items.length - 6} more.`);
  notice.hidden = false;
}
function button(label, act, css = "") {
  const made = document.createElement("button");
  made.type = "button";
  made.className = css;
  made.textContent = label;
  made.addEventListener("click", act);
  return made;
}
const hideNotice = () => { if (!outbox.conflicts.length) byId("notice").hidden = true; };

// ---- Sending ----

const words = {
  saved: () => "Saved",
  saving: () => "Saving…",
  waiting: (n) => `Not saved, retrying (${n} waiting)`,
  out: () => "Not saved: signed out",
  changed: () => "Changed in another tab",
  held: () => "Not saved: see the number in red",
};
const advice = {
  waiting: "The server cannot be reached. Go on if you like: what you do is kept in this browser and sent as soon as the connection is back.",
  out: "You are signed out. Open your personal link again in this browser: what you did is kept here and is then sent.",
};
const outbox = new Outbox(data.task, document.querySelector("meta[name=csrf]").content, data.version ?? data.seq, {
  acknowledged(body, event) {
    rebase(body, event);
    adopt(body);
    if (event.change.kind === "done" && body.next) location.assign(body.next);
  },
  conflict(body, event) {
    const theirs = Sheet.read(body.state, event.change);
    const choice = ["set", "comment"].includes(event.change.kind) && !body.state.done && theirs !== wanted(body.state, event.change);
    if (choice) outbox.conflicts.push(event.change);
    adopt(body);
    if (choice) showConflicts(); else tell(`Changed in another tab: ${body.reason} The page now shows the latest state; do it again if it is still wanted.`);
  },
  refused(body, event) {
    const { kind, slot: where, question, value } = event.change;
    sheet.state = withQueue();
    if (kind === "set" && value !== null && !sheet.byName.get(question).choices.length) hold(where, question, value, body.reason);
    draw();
    const items = (kind === "done" && body.problems) || [];
    tell(items.length ? "Before this task can be finished:" : `Not saved: ${body.reason ?? body.message}`, items.map(problemItem));
  },
  state(name, waiting) {
    byId("saved").dataset.state = name;
    byId("saved-text").textContent = words[name](waiting);
    if (advice[name] && byId("notice").dataset.about !== name) { tell(advice[name]); byId("notice").dataset.about = name; }
    if (!advice[name] && byId("notice").dataset.about) { byId("notice").hidden = true; delete byId("notice").dataset.about; }
  },
});

// What a field would hold after the change, to see whether another tab has already made the same one.
function wanted(state, change) {
  const copy = structuredClone(state);
  sheet.apply(change, copy);
  return Sheet.read(copy, change);
}

// Changes that wait were made on an older version. They may go on from the new one where nobody else has
// touched the same thing in between; the others keep their base, and the server says so.
function rebase(body, event) {
  const version = body.version ?? body.seq;
  const expected = structuredClone(confirmed);
  if (!body.again) sheet.apply(event.change, expected);
  const alone = version <= outbox.version + 1;
  for (const later of outbox.queue) {
    if (alone || Sheet.read(expected, later.change) === Sheet.read(body.state, later.change)) later.base = version;
  }
}

function withQueue() {
  const state = structuredClone(confirmed);
  for (const event of outbox.queue) sheet.apply(event.change, state);
  return state;
}

function adopt(body) {
  confirmed = body.state;
  outbox.version = Math.max(outbox.version, body.version ?? body.seq);
  sheet.state = withQueue();
  release();
  draw();
}

function change(what, typing = null) {
  if (sheet.state.done && what.kind !== "reopen") return say("This task is finished. Reopen it to change an answer.");
  hideNotice();
  sheet.apply(what);
  outbox.push(what, typing);
  if (what.kind === "set") outbox.conflicts = outbox.conflicts.filter((c) => !(c.slot === what.slot && c.question === what.question));
  if (what.kind !== "comment") release();
  draw();
}

// ---- Numbers that cannot be: kept in their field and in this browser, sent as soon as they are possible ----

const keyOf = (where, question) => `${where}:${question}`;
function hold(where, question, value, reason) {
  outbox.held[keyOf(where, question)] = { value, reason };
  outbox.keep();
  outbox.report();
}
function drop(where, question) {
  delete outbox.held[keyOf(where, question)];
  outbox.keep();
  outbox.report();
}
function release() {
  for (const [key, { value }] of Object.entries(outbox.held)) {
    const [where, question] = key.split(":");
    if (sheet.state.done || !sheet.byName.has(question)) { drop(where, question); continue; }
    if (sheet.refusal(where, { [question]: value })) continue;
    drop(where, question);
    if (value !== sheet.value(sheet.byName.get(question), where)) change({ kind: "set", slot: where, question, value });
  }
}

// A number for a question: sent where it is possible, held with the reason where it is not.
function put(where, question, value, typing = null) {
  const refusal = value === null ? null : sheet.refusal(where, { [question]: value });
  if (refusal) {
    const reason = (refusal.slot === where ? "" : `${letter(refusal.slot)}: `) + refusal.limit.reason;
    hold(where, question, value, reason);
    draw();
    return false;
  }
  drop(where, question);
  if (value !== sheet.value(sheet.byName.get(question), where)) change({ kind: "set", slot: where, question, value }, typing);
  else draw();
  return true;
}

function showConflicts() {
  const items = outbox.conflicts.map((mine) => {
    const label = mine.kind === "comment" ? "Comment" : `“${data.labels[mine.question]}”`;
    const theirs = mine.kind === "comment" ? sheet.state.comments[mine.slot] || "empty" : sheet.value(sheet.byName.get(mine.question), mine.slot) ?? "empty";
    const own = mine.kind === "comment" ? mine.text || "empty" : mine.value ?? "empty";
    const close = () => { outbox.conflicts = outbox.conflicts.filter((c) => c !== mine); outbox.keep(); outbox.report(); if (outbox.conflicts.length) showConflicts(); else byId("notice").hidden = true; };
    return {
      text: `${mine.slot === "case" ? "Case" : letter(mine.slot)}, ${label}: there “${String(theirs).slice(0, 80)}”, here “${String(own).slice(0, 80)}”.`,
      buttons: [["Keep the other tab’s", () => { close(); draw(true); }], ["Use mine", () => { close(); if (mine.kind === "comment") change({ ...mine }); else put(mine.slot, mine.question, mine.value); draw(true); }]],
    };
  });
  tell("Changed in another tab while you were typing here. Which one is right?", items);
  outbox.report();
}

// ---- Parts of the page ----

const context = { data, sheet, outbox, change, put, say, spoken, letter, freshId, current: () => slot };
const highlights = new Highlights(context);
const answers = new Answers(context);
const draft = new Draft(context);
const search = new Search();
linkScrolling(byId("linked"));

const MARKS = { untouched: ["○", "not begun"], open: ["◐", "begun"], answered: ["✓", "answered"] };
function draw(force = false) {
  document.body.classList.toggle("finished", sheet.state.done);
  highlights.draw();
  answers.draw(force);
  draft.draw();
  for (const tab of all("[role=tab]")) {
    const where = tab.dataset.slot;
    const flags = sheet.flags(where);
    const held = Object.keys(outbox.held).some((key) => key.startsWith(`${where}:`));
    const status = sheet.state.done ? "answered" : held ? "open" : sheet.status(where);
    const [glyph, text] = "cannot_judge" in flags ? ["⊘", "cannot be judged"] : MARKS[status];
    tab.dataset.status = status;
    tab.querySelector(".tick").textContent = glyph + ("flag" in flags ? " ⚑" : "");
    tab.querySelector(".tick-text").textContent = ` (${text}${"flag" in flags ? ", flagged" : ""})`;
    drawAside(where, flags);
  }
  drawAside("case", sheet.flags("case"));
  const { done } = sheet.state;
  const ready = sheet.texts().every((where) => sheet.status(where) === "answered") && !sheet.missing("case").length;
  const last = slot === data.slots.at(-1);
  byId("no-errors").hidden = byId("aside-open").hidden = byId("finish").hidden = done;
  byId("next-text").hidden = done || data.slots.length < 3;
  byId("finish").classList.toggle("strong", ready || last);
  byId("next-text").classList.toggle("strong", !ready && !last);
  byId("reopen").hidden = !done;
  byId("undo").disabled = byId("redo").disabled = done;
  search.refresh();
}

const ASIDE = { skip: "Skipped for now", flag: "Flagged for the coordinator", cannot_judge: "Cannot be judged" };
function drawAside(where, flags) {
  const box = byId(`aside-${where}`);
  const names = Object.keys(flags);
  const key = JSON.stringify([flags, sheet.state.done]);
  if (box.dataset.shown === key) return;
  box.dataset.shown = key;
  box.hidden = !names.length;
  box.replaceChildren(...names.map((flag) => {
    const line = document.createElement("p");
    line.append(`⚑ ${ASIDE[flag] || flag}: ${flags[flag]} `);
    if (!sheet.state.done) line.append(button("Take back", () => change({ kind: "flag", slot: where, flag, on: false, reason: "" }), "link"));
    return line;
  }));
}

// ---- Going about ----

function go(where) {
  if (!sheet.texts().includes(where)) return;
  slot = where;
  outbox.flush();
  highlights.hide();
  for (const tab of all("[role=tab]")) {
    const on = tab.dataset.slot === slot;
    tab.setAttribute("aria-selected", String(on));
    tab.tabIndex = on ? 0 : -1;
  }
  for (const panel of all(".panel, .answers-of")) panel.hidden = panel.dataset.slot !== slot;
  draw();
  history.replaceState(null, "", slot === "1" ? location.pathname : `#text-${slot}`);
}
const step = (by) => go(String(Math.max(1, Math.min(sheet.texts().length, Number(slot) + by))));

// On to the next text that is not answered; where all are, to the button that finishes the task.
function advance() {
  const order = [...sheet.texts().slice(Number(slot)), ...sheet.texts().slice(0, Number(slot))];
  const next = order.find((where) => sheet.status(where) !== "answered");
  document.activeElement?.blur?.();
  if (next) { go(next); spoken(`${letter(next)} of ${sheet.texts().length}`); byId(`candidate-${next}`).scrollTop = 0; return; }
  draw();
  byId("finish").focus();
  spoken("All texts are answered. Finish the task.");
}
context.advance = advance;
context.go = go;

// Every error count that has no answer becomes 0; where nothing at all is wrong, the rest follows from the reference.
function noErrors() {
  if (sheet.state.done) return say("This task is finished. Reopen it to change an answer.");
  if (!sheet.missing(slot).length) return advance();
  const rules = data.noErrors || {};
  const flawed = Object.entries(rules).some(([name, rule]) => rule === 0 && sheet.named(name, slot) > 0);
  const resolve = (name) => sheet.named(name, slot) ?? (typeof rules[name] === "string" ? resolve(rules[name]) : rules[name] ?? null);
  const values = {};
  for (const [name, rule] of Object.entries(rules)) {
    if (sheet.named(name, slot) !== null || (flawed && rule !== 0)) continue;
    const value = resolve(name);
    if (value === null) { answers.focus("case"); return say(`First answer “${data.labels[sheet.missing("case")[0]?.name ?? rule]}”.`); }
    if (!sheet.refusal(slot, { ...values, [name]: value })) values[name] = value;
  }
  const group = freshId();
  for (const [question, value] of Object.entries(values)) change({ kind: "set", slot, question, value, group });
  outbox.flush();
  if (!sheet.missing(slot).length) return advance();
  answers.focus(slot);
  spoken("No further errors. One count is still open.");
}

const problemItem = ({ slot: where, question, text }) => ({ text, go: () => { if (where !== "case") go(where); answers.focus(where, question); } });
function finish() {
  document.activeElement?.blur?.();
  outbox.flush();
  if (outbox.conflicts.length) return showConflicts();
  const held = Object.entries(outbox.held).map(([key, { reason }]) => problemItem({ slot: key.split(":")[0], question: key.split(":")[1], text: reason }));
  const open = [];
  for (const where of data.slots) {
    const missing = sheet.missing(where);
    if (where !== "case" && sheet.status(where) === "untouched") open.push({ text: `${letter(where)} is not answered yet. If nothing is wrong with it, say so with “No errors”.`, go: () => go(where) });
    else for (const q of missing) open.push(problemItem({ slot: where, question: q.name, text: `${where === "case" ? "" : `${letter(where)}: `}“${data.labels[q.name]}” has no answer yet.` }));
    if (where !== "case") for (const limit of sheet.broken(where)) open.push(problemItem({ slot: where, question: Object.keys(limit.terms)[0], text: `${letter(where)}: ${limit.reason}` }));
  }
  if (held.length + open.length) return tell("Before this task can be finished:", [...held, ...open]);
  outbox.push({ kind: "done" });
}

function undo(kind) {
  if (sheet.state.done) return;
  if (document.activeElement?.matches?.("input[type=text], textarea")) document.activeElement.blur();
  if (kind === "undo" && Object.keys(outbox.held).length) { // what is held was typed last and was never sent
    const [where, question] = Object.keys(outbox.held).at(-1).split(":");
    drop(where, question);
    return draw();
  }
  outbox.push({ kind });
  outbox.flush();
}

for (const tab of all("[role=tab]")) {
  tab.addEventListener("click", () => go(tab.dataset.slot));
  tab.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by) { event.preventDefault(); step(by); document.querySelector("[role=tab][aria-selected=true]").focus(); }
  });
}
const guide = (open = byId("guide").hidden) => { byId("guide").hidden = !open; byId("guide-open").setAttribute("aria-expanded", String(open)); };
byId("undo").addEventListener("click", () => undo("undo"));
byId("redo").addEventListener("click", () => undo("redo"));
byId("next-text").addEventListener("click", () => step(1));
byId("no-errors").addEventListener("click", noErrors);
byId("finish").addEventListener("click", finish);
byId("reopen").addEventListener("click", () => outbox.push({ kind: "reopen" }));
byId("help-open").addEventListener("click", () => byId("help").showModal());
byId("guide-open").addEventListener("click", () => guide());
byId("guide-close").addEventListener("click", () => { guide(false); byId("guide-open").focus(); });

// ---- Skip, flag, cannot judge ----

const openAside = () => { if (!sheet.state.done) { byId("aside").returnValue = ""; byId("aside").showModal(); } };
byId("aside-open").addEventListener("click", openAside);
byId("aside").addEventListener("close", () => {
  const reason = byId("aside-reason").value.trim();
  if (byId("aside").returnValue !== "ok" || !reason) return;
  const flag = document.querySelector("input[name=aside]:checked").value;
  byId("aside-reason").value = "";
  change({ kind: "flag", slot: flag === "skip" ? "case" : slot, flag, on: true, reason });
  outbox.flush();
  if (flag === "cannot_judge") advance();
  if (flag === "skip") outbox.whenSent = () => location.assign(byId("task-after")?.href || "/tasks");
});

// ---- Keys: one key, one meaning, in every protocol ----

const single = byId("single-keys");
try { single.checked = localStorage.getItem("medassay:keys") !== "off"; } catch { /* kept for this page only */ }
single.addEventListener("change", () => { try { localStorage.setItem("medassay:keys", single.checked ? "on" : "off"); } catch { /* as above */ } });

const keys = {
  n: () => step(1),
  p: () => step(-1),
  s: () => byId("source")?.focus(),
  r: () => byId("reference").focus(),
  t: () => byId("candidate-" + slot).focus(),
  a: () => answers.focus(sheet.missing("case").length ? "case" : slot),
  m: () => byId("comment-" + slot).focus(),
  k: openAside,
  d: () => draft.acceptNext(),
  y: noErrors,
  u: () => undo("undo"),
  U: () => undo("redo"),
  f: finish,
  i: () => guide(),
  l: () => { byId("linked").click(); spoken(`Linked scrolling ${byId("linked").checked ? "on" : "off"}`); },
  "/": () => search.open(highlights.selectedText()),
  "+": () => window.resizeText(1),
  "-": () => window.resizeText(-1),
  "?": () => byId("help").showModal(),
};

// Escape: the nearest thing that can be left, one at a time.
function leave(target, inField) {
  if (!byId("palette").hidden || document.getSelection().type === "Range") { document.getSelection().removeAllRanges(); highlights.hide(); }
  else if (inField) target.blur();
  else if (!byId("search").hidden) search.close();
  else if (!byId("guide").hidden) guide(false);
  else hideNotice();
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const { key, target } = event;
  const count = target.matches(".count-field input"); // takes digits only: letters stay commands
  const typing = !count && target.matches("input[type=text], textarea, select");
  if (key === "Escape") return leave(target, typing || count);
  if (typing) return;
  const handled = highlights.key(key, event) || (!count && single.checked && /^[0-9]$/.test(key) && answers.digit(key))
    || (single.checked && key in keys && (keys[key](), true));
  if (handled) event.preventDefault();
});

// Back in front (from another tab or device): take over what happened elsewhere.
async function refresh() {
  if (document.hidden || outbox.queue.length) return;
  try {
    const response = await fetch(`/api/tasks/${data.task}`, { credentials: "same-origin" });
    if (!response.ok || outbox.queue.length) return;
    const body = await response.json();
    if ((body.version ?? body.seq) > outbox.version) adopt(body);
  } catch { /* offline; the next change will say so */ }
}
document.addEventListener("visibilitychange", refresh);
addEventListener("focus", refresh);
addEventListener("pageshow", (event) => { if (event.persisted) refresh(); });

// Texts below each other only where they fit with their answers; otherwise beside each other.
const desk = byId("main");
const room = innerHeight - document.querySelector(".bar").offsetHeight;
if (desk.classList.contains("short") && innerWidth > 640 && desk.scrollHeight > room) desk.classList.replace("short", "long");

outbox.resume(() => {
  sheet.state = withQueue();
  draw(true);
  if (outbox.conflicts.length) showConflicts();
});
const asked = /^#text-(\d+)$/.exec(location.hash)?.[1];
const unanswered = sheet.texts().find((where) => sheet.status(where) !== "answered");
go(sheet.texts().includes(asked) ? asked : (!sheet.state.done && unanswered) || "1");
if (sheet.state.returned) tell(`The coordinator has returned this task: ${sheet.state.returned}`);
document.body.dataset.ready = "yes";
