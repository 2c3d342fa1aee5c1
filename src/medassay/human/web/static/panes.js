// Reading several texts at once: linked scrolling, and one search through all of them.

const byId = (id) => document.getElementById(id);
const shown = () => [...document.querySelectorAll(".scroller")].filter((pane) => pane.offsetParent !== null);

// ---- Linked scrolling: the others follow to the same share of their length ----

export function linkScrolling(box) {
  let led = null; // the pane that somebody scrolls; the others only follow
  let free;
  const lead = (event) => { led = event.currentTarget; };
  for (const pane of document.querySelectorAll(".scroller")) {
    for (const kind of ["wheel", "touchstart", "pointerdown", "keydown"]) pane.addEventListener(kind, lead, { passive: true });
    pane.addEventListener("scroll", () => {
      if (!box.checked || led !== pane) return;
      const share = pane.scrollTop / Math.max(1, pane.scrollHeight - pane.clientHeight);
      for (const other of shown()) if (other !== pane) other.scrollTop = share * (other.scrollHeight - other.clientHeight);
      clearTimeout(free);
      free = setTimeout(() => { led = null; }, 1500);
    }, { passive: true });
  }
  try { box.checked = localStorage.getItem("medassay:linked") !== "off"; } catch { /* kept for this page only */ }
  box.addEventListener("change", () => { try { localStorage.setItem("medassay:linked", box.checked ? "on" : "off"); } catch { /* as above */ } });
}

// ---- Search: every hit is coloured in all texts; each text scrolls to its own next hit ----

// Text positions of a pane, whatever highlights are drawn in it.
function rangeIn(pane, from, to) {
  const range = document.createRange();
  const walk = document.createTreeWalker(pane, NodeFilter.SHOW_TEXT);
  let at = 0;
  let begun = false;
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    if (!begun && from < at + node.length) { range.setStart(node, from - at); begun = true; }
    if (to <= at + node.length) { range.setEnd(node, to - at); return range; }
    at += node.length;
  }
  return null;
}

function hitsIn(pane, words) {
  if (!words) return [];
  const pattern = new RegExp(words.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&").replace(/\s+/g, "\\s+"), "giu");
  return [...pane.textContent.matchAll(pattern)].slice(0, 500).map((m) => rangeIn(pane, m.index, m.index + m[0].length)).filter(Boolean);
}

function reveal(pane, range) {
  const box = range.getBoundingClientRect();
  const frame = pane.getBoundingClientRect();
  if (box.top < frame.top || box.bottom > frame.bottom) pane.scrollTop += box.top - frame.top - frame.height / 3;
}

export class Search {
  constructor() {
    this.form = byId("search");
    this.input = byId("search-for");
    this.step = 0;
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.step += 1; this.find(); });
    this.input.addEventListener("input", () => { this.step = 0; this.find(); });
    this.input.addEventListener("keydown", (event) => { if (event.key === "Escape") { event.stopPropagation(); this.close(); } });
    byId("search-close").addEventListener("click", () => this.close());
    byId("search-open").addEventListener("click", () => (this.form.hidden ? this.open() : this.close()));
  }

  open(words = "") {
    this.form.hidden = false;
    byId("search-open").setAttribute("aria-expanded", "true");
    if (words) this.input.value = words.slice(0, 100);
    this.input.focus();
    this.input.select();
    this.step = 0;
    this.find();
  }

  close() {
    this.form.hidden = true;
    byId("search-open").setAttribute("aria-expanded", "false");
    this.paint([], []);
    byId("search-open").focus();
  }

  // Once more after texts were drawn anew or another text came to the front.
  refresh() { if (!this.form.hidden) this.find(false); }

  find(move = true) {
    const words = this.input.value.trim();
    const all = [];
    const current = [];
    const counts = [];
    for (const pane of shown()) {
      const hits = hitsIn(pane, words);
      const name = pane.id === "source" ? "source" : pane.id === "reference" ? "reference" : "text";
      counts.push(`${name} ${hits.length}`);
      all.push(...hits);
      if (!hits.length) continue;
      const hit = hits[this.step % hits.length];
      current.push(hit);
      if (move) reveal(pane, hit);
    }
    byId("search-hits").textContent = words ? counts.join(" · ") : "";
    this.paint(all, current);
  }

  paint(all, current) {
    if (!window.Highlight || !CSS.highlights) return; // an older browser scrolls to the hits without colour
    CSS.highlights.set("hits", new Highlight(...all));
    CSS.highlights.set("hit", new Highlight(...current));
  }
}
