// Changes on their way to the server. Each has an id of its own, so that sending one twice does no harm;
// each is kept in this browser until the server has acknowledged it.

export function freshId() {
  const bytes = crypto.getRandomValues(new Uint8Array(15));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_");
}

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
  constructor(task, csrf, handlers) {
    this.url = `/api/tasks/${task}/changes`;
    this.csrf = csrf;
    this.handlers = handlers; // { acknowledged(body, event), refused(body, event), state(name, waiting) }
    this.clock = new Clock();
    this.prefix = `medassay:${task}:`;
    this.store = `${this.prefix}${freshId()}`;
    this.queue = this.leftOver();
    this.busy = false;
    this.wait = 0;
    addEventListener("online", () => this.hurry());
    addEventListener("beforeunload", (event) => { if (this.queue.length) event.preventDefault(); });
    document.addEventListener("visibilitychange", () => { if (document.hidden) this.goodbye(); });
    if (this.queue.length) { this.keep(); this.pump(); }
  }

  // What an earlier visit could not send any more (a crash, an empty battery).
  leftOver() {
    const found = [];
    try {
      for (const key of Object.keys(localStorage).filter((k) => k.startsWith(this.prefix))) {
        found.push(...JSON.parse(localStorage.getItem(key)));
        localStorage.removeItem(key);
      }
    } catch { /* storage may be switched off; then only this page holds what is unsent */ }
    return found;
  }

  keep() {
    try {
      if (this.queue.length) localStorage.setItem(this.store, JSON.stringify(this.queue));
      else localStorage.removeItem(this.store);
    } catch { /* as above */ }
  }

  push(change) {
    const event = { id: freshId(), at: Date.now() / 1000, active_ms: this.clock.take(), change };
    this.queue.push(event);
    this.keep();
    this.pump();
    return event;
  }

  hurry() { clearTimeout(this.timer); this.timer = null; this.pump(); }

  async pump() {
    if (this.busy || this.timer) return;
    this.busy = true;
    while (this.queue.length) {
      this.handlers.state("saving", this.queue.length);
      const outcome = await this.send(this.queue[0]);
      if (outcome === "again") break;
      this.queue.shift();
      this.keep();
      this.wait = 0;
      outcome();
    }
    this.busy = false;
    if (!this.queue.length) this.handlers.state("saved", 0);
  }

  async send(event) {
    try {
      const response = await fetch(this.url, this.request(event));
      if (response.status === 401 || response.status === 403) {
        this.handlers.state("out", this.queue.length);
        return this.later(15);
      }
      if (response.status >= 500 || response.status === 429) return this.later();
      const body = await response.json();
      return () => (response.ok ? this.handlers.acknowledged(body, event) : this.handlers.refused(body, event));
    } catch {
      return this.later();
    }
  }

  later(seconds) {
    this.wait = Math.min(15, seconds || (this.wait ? this.wait * 2 : 1));
    if (!seconds) this.handlers.state("waiting", this.queue.length);
    this.timer = setTimeout(() => { this.timer = null; this.pump(); }, this.wait * 1000);
    return "again";
  }

  request(event) {
    return {
      method: "POST",
      credentials: "same-origin",
      headers: { "content-type": "application/json", "x-csrf-token": this.csrf },
      body: JSON.stringify(event),
    };
  }

  // The time spent since the last change, sent while the page goes away.
  goodbye() {
    const spent = this.clock.take();
    if (spent < 1000) return;
    const event = { id: freshId(), at: Date.now() / 1000, active_ms: spent, change: { kind: "time" } };
    fetch(this.url, { ...this.request(event), keepalive: true }).catch(() => {});
  }
}
