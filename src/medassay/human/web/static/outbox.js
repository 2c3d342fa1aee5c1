// Changes on their way to the server. Each has an id of its own, so that sending it twice does no harm; each
// is kept in this browser from the first keystroke until the server has acknowledged it.

export function freshId() {
  const bytes = crypto.getRandomValues(new Uint8Array(15));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_");
}

const TYPING_MS = 1500; // a pause that ends what somebody types as one action

// Time with the page in front and somebody at it; a minute without a sign of life stops the clock.
export class Clock {
  constructor() {
    this.active = 0;
    this.last = performance.now();
    this.sign = this.last;
    for (const kind of ["pointerdown", "pointermove", "keydown", "scroll", "touchstart"]) {
      addEventListener(kind, () => { this.tick(); this.sign = performance.now(); }, { passive: true, capture: true });
    }
    document.addEventListener("visibilitychange", () => { if (document.hidden) this.tick(); else this.last = performance.now(); });
  }
  tick() {
    const now = performance.now();
    if (!document.hidden || this.last < now) this.active += Math.max(0, Math.min(now, this.sign + 60000) - this.last);
    this.last = now;
  }
  take() {
    if (!document.hidden) this.tick();
    const spent = Math.min(Math.round(this.active), 600000);
    this.active = 0;
    return spent;
  }
}

export class Outbox {
  // handlers: acknowledged(body, event), conflict(body, event), refused(body, event), state(name, waiting).
  // `held` and `conflicts` are the page's: what was typed and cannot be sent as it is; kept here over a reload.
  constructor(task, csrf, version, handlers) {
    this.url = `/api/tasks/${task}/changes`;
    this.csrf = csrf;
    this.version = version;
    this.handlers = handlers;
    this.clock = new Clock();
    this.prefix = `medassay:${task}:`;
    this.store = `${this.prefix}${freshId()}`;
    this.queue = [];
    this.held = {};
    this.conflicts = [];
    this.busy = false;
    this.wait = 0;
    this.trouble = null; // "waiting" or "out" while nothing gets through
    addEventListener("online", () => this.hurry());
    addEventListener("beforeunload", (event) => { if (this.queue.length && !this.keep()) event.preventDefault(); });
    addEventListener("pagehide", () => this.goodbye());
    document.addEventListener("visibilitychange", () => { if (document.hidden) this.goodbye(); });
  }

  // What an earlier visit could not send any more (a quick reload, a crash, an empty battery). What another tab
  // still has in hand is left to it: each tab holds a lock as long as it lives. `found` is called when there
  // was something.
  async resume(found) {
    if (!navigator.locks) return this.take(new Set(), found); // a page without TLS has no locks
    navigator.locks.request(this.store, () => new Promise(() => {}));
    for (const wait of [0, 1000, 5000]) {
      if (wait) await new Promise((resolve) => setTimeout(resolve, wait));
      const locks = await navigator.locks.query();
      this.take(new Set(locks.held.map((lock) => lock.name)), found);
      document.body.dataset.resumed = "yes";
    }
  }

  take(live, found) {
    try {
      const keys = Object.keys(localStorage).filter((key) => key.startsWith(this.prefix) && key !== this.store && !live.has(key));
      for (const key of keys) {
        const left = JSON.parse(localStorage.getItem(key));
        const { queue = [], held = {}, conflicts = [] } = Array.isArray(left) ? { queue: left } : left;
        this.queue.push(...queue);
        Object.assign(this.held, held);
        this.conflicts.push(...conflicts);
        this.keep();
        localStorage.removeItem(key);
      }
      if (keys.length) { found(); this.pump(); }
    } catch { /* storage may be switched off; then only this page holds what is unsent */ }
  }

  keep() {
    try {
      const { queue, held, conflicts } = this;
      if (queue.length || conflicts.length || Object.keys(held).length) localStorage.setItem(this.store, JSON.stringify({ queue, held, conflicts }));
      else localStorage.removeItem(this.store);
      return true;
    } catch { return false; }
  }

  // `typing` names a field: what is typed into it without a pause is one change.
  push(change, typing = null) {
    const last = this.queue.at(-1);
    const before = typing && last?.typing === typing && last !== this.sending ? this.queue.pop() : null;
    const spent = Math.min(this.clock.take() + (before?.active_ms || 0), 600000);
    const event = { id: freshId(), at: Date.now() / 1000, active_ms: spent, base: before?.base ?? this.version, change };
    if (typing) event.typing = typing;
    this.queue.push(event);
    this.keep();
    this.ready = typing ? performance.now() + TYPING_MS : 0;
    this.pump();
    return event;
  }

  flush() { this.ready = 0; this.pump(); }
  hurry() { clearTimeout(this.timer); this.timer = null; this.flush(); }

  report() {
    if (this.trouble && this.queue.length) this.handlers.state(this.trouble, this.queue.length);
    else if (this.queue.length) this.handlers.state("saving", this.queue.length);
    else if (this.conflicts.length) this.handlers.state("changed", this.conflicts.length);
    else if (Object.keys(this.held).length) this.handlers.state("held", Object.keys(this.held).length);
    else this.handlers.state("saved", 0);
  }

  async pump() {
    this.report();
    if (this.busy || this.timer) return;
    clearTimeout(this.pause);
    this.busy = true;
    while (this.queue.length) {
      const rest = (this.ready || 0) - performance.now();
      if (this.queue.length === 1 && this.queue[0].typing && rest > 0) { this.pause = setTimeout(() => this.pump(), rest); break; }
      this.sending = this.queue[0];
      const outcome = await this.send(this.sending);
      this.sending = null;
      if (outcome === "again") break;
      this.queue.shift();
      this.trouble = null;
      this.wait = 0;
      outcome();
      this.keep();
    }
    this.busy = false;
    this.report();
    if (!this.queue.length && this.whenSent) this.whenSent();
  }

  async send(event) {
    try {
      const response = await fetch(this.url, this.request(event));
      if (response.status === 401 || response.status === 403) return this.later("out", 15);
      if (response.status >= 500 || response.status === 429) return this.later("waiting");
      const body = await response.json();
      return () => {
        if (response.ok) this.handlers.acknowledged(body, event);
        else if (response.status === 409 && body.state) this.handlers.conflict(body, event);
        else this.handlers.refused(body, event);
      };
    } catch {
      return this.later("waiting");
    }
  }

  later(trouble, seconds) {
    this.trouble = trouble;
    this.wait = Math.min(15, seconds || (this.wait ? this.wait * 2 : 1));
    this.timer = setTimeout(() => { this.timer = null; this.pump(); }, this.wait * 1000);
    return "again";
  }

  request({ typing, ...event }) {
    return {
      method: "POST",
      credentials: "same-origin",
      headers: { "content-type": "application/json", "x-csrf-token": this.csrf },
      body: JSON.stringify(event),
    };
  }

  // While the page goes away: what is unsent, and the time spent since the last change. Both may arrive or
  // not; what is unsent is also in this browser's storage and is sent again with the same id.
  goodbye() {
    this.keep();
    const spent = this.clock.take();
    const unsent = this.queue.filter((event) => event !== this.sending);
    if (spent >= 1000) unsent.push({ id: freshId(), at: Date.now() / 1000, active_ms: spent, change: { kind: "time" } });
    for (const event of unsent) delete event.typing; // sent: what is typed from now on is another change
    for (const event of unsent.slice(0, 20)) fetch(this.url, { ...this.request(event), keepalive: true }).catch(() => {});
  }
}
