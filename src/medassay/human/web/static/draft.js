// The machine's draft: statements with verdicts that the annotator confirms, corrects or leaves out.

const byId = (id) => document.getElementById(id);

const VERDICTS = { supported: "borne out", contradicted: "contradicted", not_stated: "not stated" };

export class Draft {
  constructor(context) {
    this.context = context;
    this.sheet = context.sheet;
    this.kinds = new Map(context.data.marks.map((kind) => [kind.name, kind]));
    this.store = `medassay:left-out:${context.data.task}`;
    this.leftOut = new Set(); // ids of statements that the annotator leaves out, kept in this browser
    try { this.leftOut = new Set(JSON.parse(localStorage.getItem(this.store)) || []); } catch { /* for this page only */ }
  }

  // The statements that come to a highlight in this protocol.
  statements(slot) { return (this.context.data.draft || []).filter((s) => s.slot === slot && this.kinds.has(s.type)); }
  choices(statement) { return [...this.kinds.values()].filter((kind) => kind.side === statement.of && kind.per !== "case"); }
  taken(s) { return this.sheet.state.marks.some((m) => m.slot === s.slot && m.start === s.start && m.end === s.end && this.kinds.get(m.kind).side === s.of); }
  waiting(slot) { return this.statements(slot).filter((s) => !this.taken(s) && !this.leftOut.has(s.id)); }

  accept(s, kind = this.kinds.get(s.type)) {
    const flags = kind.flags.filter((flag) => s.flags.includes(flag));
    this.context.change({ kind: "mark", mark: this.context.freshId(), slot: s.slot, type: kind.name, start: s.start, end: s.end, flags, from_draft: true });
    this.context.spoken(`${kind.label}: ${s.text}`);
  }

  leave(s) {
    this.leftOut.add(s.id);
    try { localStorage.setItem(this.store, JSON.stringify([...this.leftOut])); } catch { /* for this page only */ }
    this.draw();
  }

  acceptNext() {
    const next = this.waiting(this.context.current())[0];
    if (next) this.accept(next);
    else this.context.say(this.context.data.draft ? "Nothing of the machine’s draft is left for this text." : "This study has no machine’s draft.");
  }

  draw() {
    if (!this.context.data.draft) return;
    for (const slot of this.sheet.texts()) {
      const box = byId(`draft-${slot}`);
      const rest = this.waiting(slot);
      const total = this.statements(slot).length;
      const key = JSON.stringify([rest.map((s) => s.id), this.sheet.state.done]);
      if (box.dataset.shown === key) continue;
      box.dataset.shown = key;
      box.hidden = !total || this.sheet.state.done;
      const title = document.createElement("h3");
      title.textContent = `Machine’s draft: ${total - rest.length} of ${total} looked at`;
      const note = document.createElement("p");
      note.className = "help";
      note.textContent = rest.length ? "A proposal, often wrong. Accept, change or leave out each statement." : "Add what the machine did not see, then check the counts.";
      const list = document.createElement("ol");
      list.append(...rest.map((s, i) => this.line(s, i === 0)));
      box.replaceChildren(title, note, list);
    }
  }

  line(s, first) {
    const item = document.createElement("li");
    const words = document.createElement("p");
    words.className = "said";
    words.textContent = s.text;
    const verdict = document.createElement("span");
    verdict.className = "kind";
    verdict.textContent = `${s.of === "reference" ? "In the reference" : "In this text"}: ${VERDICTS[s.verdict] || s.verdict}`;
    const row = document.createElement("div");
    row.className = "row tight";
    const own = this.kinds.get(s.type);
    const accept = this.button(own.label, () => this.accept(s), `Accept “${own.label}”: ${s.text}`);
    accept.className = "strong";
    if (first) { const key = document.createElement("kbd"); key.textContent = "d"; accept.append(key); }
    row.append(accept, ...this.choices(s).filter((kind) => kind !== own).map((kind) => this.button(kind.label, () => this.accept(s, kind), `${kind.label} instead: ${s.text}`)));
    row.append(this.button("Leave out", () => this.leave(s), `Leave out: ${s.text}`));
    item.append(words, verdict, row);
    return item;
  }

  button(text, act, label) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.setAttribute("aria-label", label);
    button.addEventListener("click", act);
    return button;
  }
}
