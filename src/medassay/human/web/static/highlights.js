// Highlights in the texts: the small menu over a selection, the list of highlights and their ticks.

import { TextView } from "/static/textview.js";

const byId = (id) => document.getElementById(id);

export class Highlights {
  constructor(context) {
    this.context = context;
    this.sheet = context.sheet;
    this.kinds = new Map(context.data.marks.map((kind) => [kind.name, { ...kind, css: `k${kind.look}` }]));
    this.palette = byId("palette");
    this.target = null; // the text with a selection
    this.last = null; // the highlight that a tick key speaks of
    this.views = [...document.querySelectorAll(".markable")].map((element) => new TextView(element, (view, text) => {
      if (text) { this.offer(view); context.spoken(`Selected: ${text}`); } else this.hide();
    }));
    let wait;
    document.addEventListener("selectionchange", () => {
      clearTimeout(wait);
      wait = setTimeout(() => {
        if (this.palette.contains(document.activeElement)) return;
        const view = this.views.find((v) => v.selected());
        if (view) this.offer(view); else if (!this.views.some((v) => v.cursor)) this.hide();
      }, 160);
    });
    addEventListener("scroll", () => { if (this.target && !this.target.cursor) this.offer(this.target); }, { passive: true, capture: true });
    for (const slot of this.sheet.slots) this.offerTyping(slot);
    this.palette.addEventListener("keydown", (event) => this.move(event));
    this.palette.addEventListener("focusout", (event) => { if (!this.palette.contains(event.relatedTarget)) this.leave(); });
  }

  viewOf(mark) {
    const kind = this.kinds.get(mark.kind);
    return this.views.find((v) => v.side === kind.side && (kind.side === "reference" || v.slot === mark.slot));
  }
  shows(view, mark) {
    return this.viewOf(mark) === view && (view.slot ? mark.slot === view.slot : mark.slot === "case" || mark.slot === this.context.current());
  }
  offered(view) { return [...this.kinds.values()].filter((kind) => kind.side === view.side); }
  selectedText() {
    const view = this.target || this.views.find((v) => v.selected());
    const range = view?.current();
    return range ? view.raw.slice(...range) : document.getSelection().toString().trim();
  }

  draw() {
    const { marks } = this.sheet.state;
    for (const view of this.views) view.show(marks.filter((m) => !m.text && this.shows(view, m)), (m) => this.kinds.get(m.kind).css);
    for (const slot of this.sheet.slots) this.drawChips(byId(`chips-${slot}`), marks.filter((m) => m.slot === slot));
  }

  drawChips(list, marks) {
    const focus = list.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
    const side = (mark) => (this.kinds.get(mark.kind).side === "candidate" ? 0 : 1);
    const own = [...marks].sort((a, b) => side(a) - side(b) || a.start - b.start || a.end - b.end);
    const key = JSON.stringify([this.sheet.state.done, own.map((m) => [m.id, m.flags])]);
    if (list.dataset.shown === key) return;
    list.dataset.shown = key;
    list.replaceChildren(...own.map((mark) => this.chip(mark)));
    if (focus) [...list.querySelectorAll("[data-focus]")].find((e) => e.dataset.focus === focus)?.focus();
  }

  chip(mark) {
    const kind = this.kinds.get(mark.kind);
    const view = this.viewOf(mark);
    const { change, data } = this.context;
    const item = document.createElement("li");
    item.className = kind.flags.length ? `${kind.css} ticks` : kind.css;
    const words = document.createElement("span");
    words.className = "said";
    words.textContent = mark.text || view.excerpt(mark);
    item.append(words);
    if (data.marks.length > 2 || mark.from_draft) {
      const label = document.createElement("span");
      label.className = "kind";
      label.textContent = kind.label + (mark.from_draft ? " · from the draft" : "");
      item.append(label);
    }
    for (const flag of kind.flags) item.append(this.tick(mark, flag));
    const remove = document.createElement("button");
    remove.type = "button";
    remove.textContent = "×";
    remove.disabled = this.sheet.state.done;
    remove.dataset.focus = `${mark.id}:remove`;
    remove.setAttribute("aria-label", `Remove the highlight “${words.textContent}”`);
    remove.addEventListener("click", () => change({ kind: "unmark", mark: mark.id }));
    item.append(remove);
    if (mark.text) return item;
    item.addEventListener("pointerenter", () => view.light(mark.id, true));
    item.addEventListener("pointerleave", () => view.light(mark.id, false));
    return item;
  }

  tick(mark, flag) {
    const label = document.createElement("label");
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = mark.flags.includes(flag);
    box.disabled = this.sheet.state.done;
    box.dataset.focus = `${mark.id}:${flag}`;
    box.addEventListener("change", () => this.context.change({ kind: "flag", mark: mark.id, flag, on: box.checked }));
    label.append(box, this.context.data.flags[flag]);
    return label;
  }

  // ---- The small menu ----

  offer(view) {
    const range = view.current();
    const kinds = this.offered(view);
    if (!range || this.sheet.state.done || !kinds.length) return this.hide();
    this.target = view;
    this.palette.replaceChildren(...kinds.map((kind) => {
      const button = document.createElement("button");
      button.type = "button";
      const key = document.createElement("kbd");
      key.textContent = kind.key;
      button.append(kind.label, key);
      button.addEventListener("pointerdown", (event) => event.preventDefault()); // keep the selection
      button.addEventListener("click", () => this.mark(view, kind));
      return button;
    }));
    this.palette.hidden = false;
    const chosen = view.element.querySelector(".cursor") || document.getSelection().getRangeAt(0);
    const box = chosen.getBoundingClientRect();
    const size = this.palette.getBoundingClientRect();
    this.palette.style.left = `${Math.max(8, Math.min(innerWidth - size.width - 8, box.left))}px`;
    this.palette.style.top = `${box.bottom + size.height + 20 > innerHeight ? Math.max(8, box.top - size.height - 8) : box.bottom + 8}px`;
  }

  hide() { this.palette.hidden = true; this.target = null; }

  leave() {
    for (const view of this.views) if (view.keep) { view.keep = false; view.clear(); }
    this.hide();
  }

  move(event) {
    const buttons = [...this.palette.querySelectorAll("button")];
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by) { event.preventDefault(); buttons[(buttons.indexOf(document.activeElement) + by + buttons.length) % buttons.length].focus(); }
    if (event.key === "Escape") { const view = this.target; this.leave(); view?.element.focus(); }
  }

  mark(view, kind) {
    const range = view.currentPoints();
    if (!range) return;
    const slot = kind.per === "case" ? "case" : this.context.current();
    if (this.sheet.state.marks.some((m) => m.slot === slot && m.kind === kind.name && m.start === range.start && m.end === range.end)) {
      return this.context.say("This stretch is highlighted already. Type a number to count it twice.");
    }
    const inside = this.palette.contains(document.activeElement);
    view.keep = false;
    document.getSelection().removeAllRanges();
    view.clear();
    this.hide();
    this.last = this.context.freshId();
    this.context.change({ kind: "mark", mark: this.last, slot, type: kind.name, flags: [], ...range });
    this.context.spoken(`Highlighted as ${kind.label}.`);
    if (inside) view.element.focus();
  }

  // A field under the highlights of a slot, for facts in the annotator's own words, where the protocol has such facts.
  offerTyping(slot) {
    const typed = [...this.kinds.values()].filter((kind) => kind.typed && (kind.per === "case") === (slot === "case"));
    const list = byId(`chips-${slot}`);
    if (!typed.length || !list) return;
    const form = document.createElement("form");
    form.className = "typed-fact";
    const input = document.createElement("input");
    Object.assign(input, { type: "text", maxLength: 300, autocomplete: "off", placeholder: "Or type a fact: subject – predicate – object" });
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
      const kind = this.kinds.get(choose.value);
      if (!text || this.sheet.state.done) return;
      if (this.sheet.state.marks.some((m) => m.slot === slot && m.kind === kind.name && m.text === text)) {
        this.context.say("This fact is there already. Type a number to count it twice.");
        return;
      }
      this.last = this.context.freshId();
      this.context.change({ kind: "mark", mark: this.last, slot, type: kind.name, flags: [], text });
      input.value = "";
      this.context.spoken(`Added as ${kind.label}.`);
    });
    list.after(form);
  }

  // Keys over a selection (Enter and the letter of a kind), and ticks on the last highlight. True: taken.
  key(key, event) {
    const single = byId("single-keys").checked;
    const view = this.target || this.views.find((v) => v.selected());
    if (view && view.current() && !event.target.closest(key === "Enter" ? "button, a, summary, .count-field" : "button, a, summary")) {
      const kinds = this.offered(view);
      if (key === "Enter" && kinds.length === 1) { this.mark(view, kinds[0]); return true; }
      if (key === "Enter" && kinds.length) { this.offer(view); view.keep = Boolean(view.cursor); this.palette.querySelector("button").focus(); return true; }
      const kind = single && kinds.find((k) => k.key === key);
      if (kind) { this.mark(view, kind); return true; }
    }
    if (!single) return false;
    const { flagKeys, marks } = this.context.data;
    const mark = this.sheet.state.marks.find((m) => m.id === this.last);
    const flag = mark && this.kinds.get(mark.kind).flags.find((f) => flagKeys[f] === key);
    if (flag) { this.context.change({ kind: "flag", mark: mark.id, flag, on: !mark.flags.includes(flag) }); return true; }
    if (marks.some((k) => k.key === key)) { this.context.spoken("Select something in a text first."); return true; }
    return false;
  }
}
