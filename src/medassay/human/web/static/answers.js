// The answer fields: numbers typed or stepped, choices, comments.

const byId = (id) => document.getElementById(id);
const clamp = (value) => Math.max(0, Math.min(999, value));

export class Answers {
  constructor(context) {
    this.context = context;
    this.sheet = context.sheet;
    this.held = context.outbox.held;
    for (const field of document.querySelectorAll(".count-field")) this.wireCount(field);
    for (const field of document.querySelectorAll(".choice-field")) this.wireChoice(field);
    for (const area of document.querySelectorAll("textarea[data-slot]")) {
      const { slot } = area.dataset;
      area.addEventListener("input", () => context.change({ kind: "comment", slot, text: area.value }, `comment:${slot}`));
      area.addEventListener("blur", () => context.outbox.flush());
    }
  }

  wireCount(field) {
    const { slot, question: name } = field.dataset;
    const { put, outbox } = this.context;
    const question = this.sheet.byName.get(name);
    const input = field.querySelector("input");
    if (!question.required) input.placeholder = "0";
    const now = () => this.held[`${slot}:${name}`]?.value ?? this.sheet.value(question, slot);
    input.addEventListener("input", () => {
      const text = input.value.replace(/\D/g, "");
      if (text !== input.value) input.value = text;
      input.dataset.typing = "yes";
      put(slot, name, text === "" ? null : Number(text), `${slot}:${name}`);
    });
    input.addEventListener("focus", () => input.select());
    input.addEventListener("blur", () => { delete input.dataset.typing; outbox.flush(); this.drawField(field); });
    input.addEventListener("keydown", (event) => {
      const step = { ArrowUp: 1, ArrowDown: -1 }[event.key];
      if (step) { event.preventDefault(); delete input.dataset.typing; put(slot, name, clamp((now() ?? 0) + step)); }
      if (event.key === "Enter") { event.preventDefault(); event.stopPropagation(); this.next(field); }
    });
    for (const button of field.querySelectorAll("[data-step]")) {
      const by = Number(button.dataset.step);
      button.addEventListener("click", () => { delete input.dataset.typing; put(slot, name, clamp((now() ?? (by > 0 ? 0 : 1)) + by)); });
    }
  }

  wireChoice(field) {
    const { slot, question } = field.dataset;
    for (const input of field.querySelectorAll("input")) {
      input.addEventListener("change", () => this.choose(slot, question, Number(input.value), this.pointer));
      input.closest("label").addEventListener("pointerdown", () => { this.pointer = true; setTimeout(() => { this.pointer = false; }, 600); });
    }
  }

  // A choice that completes a text leads on to the next one, unless arrow keys are still moving through the choices.
  choose(slot, question, value, lead) {
    const open = this.sheet.missing(slot).length > 0;
    this.context.change({ kind: "set", slot, question, value });
    if (lead && open && !this.sheet.missing(slot).length && !this.sheet.missing("case").length) this.context.advance();
  }

  // Enter: the next field without an answer, then the next text.
  next(field) {
    this.context.outbox.flush();
    const { slot } = field.dataset;
    const here = slot === "case" ? this.context.current() : slot;
    const fields = [...document.querySelectorAll(`[data-slot="${slot}"][data-question]`)];
    const later = fields.slice(fields.indexOf(field) + 1).find((other) => this.sheet.missing(slot).some((q) => q.name === other.dataset.question));
    if (later) later.querySelector("input").focus();
    else if (this.sheet.missing(here).length) this.focus(here);
    else if (this.sheet.broken(here).length || Object.keys(this.held).length) this.context.say("A number in red is not possible yet.");
    else this.context.advance();
  }

  focus(slot, name = null) {
    const missing = this.sheet.missing(slot)[0]?.name;
    const css = `[data-slot="${slot}"][data-question${name || missing ? `="${name || missing}"` : ""}]`;
    const field = document.querySelector(css);
    (field?.querySelector("input:checked") || field?.querySelector("input"))?.focus();
  }

  // A digit with no field in hand answers the question in hand: the first one without an answer.
  digit(key) {
    if (this.sheet.state.done) return false;
    const here = this.context.current();
    const slot = this.sheet.missing("case").length ? "case" : here;
    const question = this.sheet.missing(slot)[0] || this.sheet.own(here).find((q) => q.choices.length > 3);
    if (!question) return false;
    if (question.choices.length) {
      if (!question.choices.includes(Number(key))) return false;
      this.choose(slot, question.name, Number(key), true);
      return true;
    }
    const input = byId(`q-${slot}-${question.name}`);
    input.focus();
    input.value = key;
    input.dispatchEvent(new Event("input"));
    input.setSelectionRange(1, 1);
    return true;
  }

  draw(force = false) {
    for (const field of document.querySelectorAll("[data-question]")) this.drawField(field, force);
    for (const area of document.querySelectorAll("textarea[data-slot]")) {
      if (force || document.activeElement !== area) area.value = this.sheet.state.comments[area.dataset.slot] || "";
      area.disabled = this.sheet.state.done;
    }
  }

  drawField(field, force = false) {
    const { slot, question: name } = field.dataset;
    const question = this.sheet.byName.get(name);
    const { done } = this.sheet.state;
    const value = this.sheet.value(question, slot);
    if (question.choices.length) {
      for (const input of field.querySelectorAll("input")) { input.checked = value !== null && Number(input.value) === value; input.disabled = done; }
      return;
    }
    const input = field.querySelector("input");
    const held = this.held[`${slot}:${name}`];
    const broken = slot === "case" ? null : this.sheet.broken(slot).find((limit) => limit.terms[name] > 0);
    if (force || document.activeElement !== input || !input.dataset.typing) input.value = held?.value ?? value ?? "";
    for (const control of field.querySelectorAll("input, button")) control.disabled = done;
    const help = field.querySelector(".help");
    help.dataset.usual ??= help.textContent;
    const wrong = held ? held.reason : broken?.reason;
    const count = this.sheet.marked(question, slot);
    help.textContent = wrong || (value !== null && count && value !== count ? `${count} highlighted, ${value} counted` : help.dataset.usual);
    help.classList.toggle("clash", Boolean(wrong));
    field.classList.toggle("wrong", Boolean(wrong));
    input.setAttribute("aria-invalid", String(Boolean(wrong)));
  }
}
