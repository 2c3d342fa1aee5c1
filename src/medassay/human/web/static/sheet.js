// What the answers are: the same arithmetic as on the server, so that a page can tell at once.

export class Sheet {
  constructor(data) {
    this.questions = data.questions;
    this.limits = data.limits || [];
    this.slots = data.slots;
    this.byName = new Map(data.questions.map((question) => [question.name, question]));
    this.state = data.state;
  }

  texts() { return this.slots.filter((slot) => slot !== "case"); }
  own(slot) { return this.questions.filter((q) => (q.per === "case") === (slot === "case")); }
  slotOf(question, slot) { return question.per === "case" ? "case" : slot; }

  marked(question, slot) {
    if (!question.fedBy) return 0;
    const [kind, flag] = question.fedBy;
    return this.state.marks.filter((m) => m.slot === slot && m.kind === kind && (!flag || m.flags.includes(flag))).length;
  }

  // The answer to a question about a slot, or null where there is none.
  value(question, slot) {
    const given = (this.state.answers[slot] || {})[question.name];
    if (question.choices.length) return given ?? null;
    const fed = question.fedBy && this.state.marks.some((m) => m.slot === slot && m.kind === question.fedBy[0]);
    if (given === undefined && !fed) return null;
    return Math.max(0, this.marked(question, slot) + (given || 0));
  }

  named(name, slot) {
    const question = this.byName.get(name);
    return this.value(question, this.slotOf(question, slot));
  }

  // How far a sum lies above its limit. A count without an answer adds nothing; where it bounds the others,
  // nothing can be told yet. `instead` holds values to try: { question: value }.
  excess(limit, slot, instead = {}) {
    let total = -limit.at_most;
    for (const [name, coefficient] of Object.entries(limit.terms)) {
      const value = name in instead ? instead[name] : this.named(name, slot);
      if (value === null && coefficient < 0) return 0;
      total += coefficient * (value || 0);
    }
    return Math.max(0, total);
  }

  // The first limit that new values for a slot would break, or break further: { limit, slot }; null: none.
  refusal(slot, instead) {
    for (const text of slot === "case" ? this.texts() : [slot]) {
      for (const limit of this.limits) {
        if (!Object.keys(limit.terms).some((name) => name in instead)) continue;
        if (this.excess(limit, text, instead) > this.excess(limit, text)) return { limit, slot: text };
      }
    }
    return null;
  }

  broken(slot) { return this.limits.filter((limit) => this.excess(limit, slot) > 0); }

  flags(slot) { return (this.state.flags || {})[slot] || {}; }

  missing(slot) {
    if ("cannot_judge" in this.flags(slot)) return [];
    return this.own(slot).filter((q) => q.required && this.value(q, slot) === null);
  }

  status(slot) {
    const { answers, comments, marks } = this.state;
    const touched = Object.keys(answers[slot] || {}).length || comments[slot] || Object.keys(this.flags(slot)).length || marks.some((m) => m.slot === slot);
    if (!touched) return "untouched";
    return this.missing(slot).length || this.broken(slot).length ? "open" : "answered";
  }

  // What a change speaks of, as text: to tell whether somebody else changed the same thing.
  static read(state, change) {
    const { kind, slot, question, mark } = change;
    if (kind === "set") return JSON.stringify((state.answers[slot] || {})[question] ?? null);
    if (kind === "comment") return state.comments[slot] || "";
    if (kind === "flag" && slot) return JSON.stringify((state.flags || {})[slot] || {});
    if (mark) return JSON.stringify(state.marks.find((m) => m.id === mark) || null);
    return JSON.stringify({ ...state, active_ms: 0 });
  }

  // The change, applied to `state` (undo, redo, done and reopen are the server's to apply).
  apply(change, state = this.state) {
    if (change.kind === "mark") {
      const { mark, type, start = 0, end = 0, flags, text } = change;
      const more = { ...(text ? { text } : {}), ...(change.from_draft ? { from_draft: true } : {}) };
      if (!state.marks.some((m) => m.id === mark)) state.marks.push({ id: mark, slot: change.slot, kind: type, start, end, flags: [...flags], ...more });
    } else if (change.kind === "unmark") state.marks = state.marks.filter((m) => m.id !== change.mark);
    else if (change.kind === "flag" && change.slot) {
      const flags = ((state.flags ||= {})[change.slot] ||= {});
      if (change.on) flags[change.flag] = change.reason; else delete flags[change.flag];
    } else if (change.kind === "flag") {
      const mark = state.marks.find((m) => m.id === change.mark);
      if (mark) mark.flags = mark.flags.filter((f) => f !== change.flag).concat(change.on ? [change.flag] : []);
    } else if (change.kind === "set") {
      const answers = (state.answers[change.slot] ||= {});
      const question = this.byName.get(change.question);
      const before = this.state;
      this.state = state;
      if (change.value === null) delete answers[change.question];
      else answers[change.question] = question.choices.length ? change.value : change.value - this.marked(question, change.slot);
      this.state = before;
    } else if (change.kind === "comment") state.comments[change.slot] = change.text;
  }
}
