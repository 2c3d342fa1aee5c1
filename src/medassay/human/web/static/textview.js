// A text that can be highlighted: with mouse or finger, or word by word from the keyboard.
// Offsets towards the server count code points; the DOM counts UTF-16 units. They are converted here only.

const WORD = /\S+/gu;
const EDGES = /^[.,;:!?"“”„'’]*|[.,;:!?"“”„'’]*$/gu; // punctuation that no highlight begins or ends with

export class TextView {
  constructor(element, onSelect) {
    this.element = element;
    this.side = element.dataset.side;
    this.slot = element.dataset.slot || null;
    this.raw = element.textContent;
    this.wide = /[\ud800-\udfff]/.test(this.raw);
    this.words = [...this.raw.matchAll(WORD)].map((m) => [m.index, m.index + m[0].length]);
    this.cursor = null; // [anchor, focus]: indices of words
    this.marks = [];
    this.shown = "[]";
    this.onSelect = onSelect;
    element.addEventListener("keydown", (event) => this.key(event));
    element.addEventListener("blur", () => { if (this.cursor && !this.keep) { this.cursor = null; this.draw(); } });
  }

  toPoints(unit) { return this.wide ? Array.from(this.raw.slice(0, unit)).length : unit; }
  toUnits(point) { return this.wide ? Array.from(this.raw).slice(0, point).join("").length : point; }
  excerpt(mark) { return this.raw.slice(this.toUnits(mark.start), this.toUnits(mark.end)); }

  // Draws anew only where something changed: drawing would take away what somebody is just selecting.
  show(marks, classOf) {
    const key = JSON.stringify(marks.map((m) => [m.id, m.start, m.end, classOf(m)]));
    this.marks = marks;
    this.classOf = classOf;
    if (key !== this.shown) this.draw();
    this.shown = key;
  }

  draw() {
    const spans = this.marks.map((m) => ({ id: m.id, from: this.toUnits(m.start), to: this.toUnits(m.end), css: this.classOf(m) }));
    const chosen = this.cursorRange();
    const edges = new Set([0, this.raw.length]);
    for (const s of spans) { edges.add(s.from); edges.add(s.to); }
    if (chosen) { edges.add(chosen[0]); edges.add(chosen[1]); }
    const sorted = [...edges].sort((a, b) => a - b);
    const pieces = document.createDocumentFragment();
    for (let i = 0; i + 1 < sorted.length; i++) {
      const [from, to] = [sorted[i], sorted[i + 1]];
      let node = document.createTextNode(this.raw.slice(from, to));
      const over = spans.filter((s) => s.from <= from && to <= s.to);
      if (over.length) {
        const element = document.createElement("mark");
        element.className = over.map((s) => s.css).join(" ");
        if (over.some((s) => s.to === to)) element.classList.add("edge");
        element.dataset.marks = over.map((s) => s.id).join(" ");
        element.append(node);
        node = element;
      }
      if (chosen && chosen[0] <= from && to <= chosen[1]) {
        const element = document.createElement("span");
        element.className = "cursor";
        element.append(node);
        node = element;
      }
      pieces.append(node);
    }
    this.element.replaceChildren(pieces);
  }

  light(id, on) {
    for (const element of this.element.querySelectorAll("mark")) {
      if (element.dataset.marks.split(" ").includes(id)) element.classList.toggle("lit", on);
    }
  }

  // What is selected with mouse or finger, as whole words in UTF-16 units; null where nothing is.
  selected() {
    const selection = document.getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return null;
    const range = selection.getRangeAt(0);
    if (!range.intersectsNode(this.element)) return null;
    const inside = document.createRange();
    inside.selectNodeContents(this.element);
    if (range.compareBoundaryPoints(Range.START_TO_START, inside) > 0) inside.setStart(range.startContainer, range.startOffset);
    if (range.compareBoundaryPoints(Range.END_TO_END, inside) < 0) inside.setEnd(range.endContainer, range.endOffset);
    if (inside.collapsed) return null;
    const before = document.createRange();
    before.selectNodeContents(this.element);
    before.setEnd(inside.startContainer, inside.startOffset);
    const start = before.toString().length;
    return this.wholeWords(start, start + inside.toString().length);
  }

  wholeWords(start, end) {
    const touched = this.words.filter(([from, to]) => from < end && start < to);
    return touched.length ? this.trimmed(touched[0][0], touched[touched.length - 1][1]) : null;
  }

  trimmed(from, to) {
    const [before, after] = [...this.raw.slice(from, to).matchAll(EDGES)].map((m) => m[0].length);
    return from + before < to - (after || 0) ? [from + before, to - (after || 0)] : [from, to];
  }

  cursorRange() {
    if (!this.cursor) return null;
    const [low, high] = [Math.min(...this.cursor), Math.max(...this.cursor)];
    return this.trimmed(this.words[low][0], this.words[high][1]);
  }

  current() { return this.cursorRange() || this.selected(); }
  currentPoints() {
    const range = this.current();
    return range && { start: this.toPoints(range[0]), end: this.toPoints(range[1]) };
  }

  clear() {
    this.cursor = null;
    this.draw();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.words.length) return;
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 8, ArrowUp: -8, Home: -Infinity, End: Infinity };
    if (event.key in steps) {
      event.preventDefault();
      document.getSelection().removeAllRanges();
      const last = this.words.length - 1;
      const at = this.cursor ? this.cursor[1] + steps[event.key] : (steps[event.key] < 0 && event.key !== "Home" ? last : 0);
      const focus = Math.max(0, Math.min(last, at));
      this.cursor = [event.shiftKey && this.cursor ? this.cursor[0] : focus, focus];
      this.draw();
      this.element.querySelector(".cursor")?.scrollIntoView({ block: "nearest" });
      const [from, to] = this.cursorRange();
      this.onSelect(this, this.raw.slice(from, to));
    } else if (event.key === "Escape" && this.cursor) {
      event.stopPropagation();
      this.clear();
      this.onSelect(this, "");
    }
  }
}
