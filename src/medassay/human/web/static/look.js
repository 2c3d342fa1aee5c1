// Text size and colours, kept in this browser. Loaded before the page is drawn, so that nothing flashes.

(() => {
  const sizes = [85, 100, 115, 130, 150, 175];
  const root = document.documentElement;
  const read = (key, usual) => { try { return localStorage.getItem(`medassay:${key}`) || usual; } catch { return usual; } };
  const keep = (key, value) => { try { localStorage.setItem(`medassay:${key}`, value); } catch { /* for this page only */ } };
  let size = sizes.includes(Number(read("size", "100"))) ? Number(read("size", "100")) : 100;
  let theme = read("theme", "auto");

  function draw() {
    root.style.setProperty("--text-scale", size / 100);
    if (theme === "auto") delete root.dataset.theme; else root.dataset.theme = theme;
    const shown = document.getElementById("size");
    if (shown) shown.textContent = `${size} %`;
    for (const button of document.querySelectorAll("[data-size]")) button.disabled = size === (Number(button.dataset.size) > 0 ? sizes.at(-1) : sizes[0]);
    const chosen = document.querySelector(`input[name=theme][value="${CSS.escape(theme)}"]`);
    if (chosen) chosen.checked = true;
  }

  window.resizeText = (by) => {
    size = sizes[Math.max(0, Math.min(sizes.length - 1, sizes.indexOf(size) + by))];
    keep("size", size);
    draw();
  };

  draw();
  document.addEventListener("DOMContentLoaded", () => {
    draw();
    for (const button of document.querySelectorAll("[data-size]")) button.addEventListener("click", () => window.resizeText(Number(button.dataset.size)));
    for (const input of document.querySelectorAll("input[name=theme]")) {
      input.addEventListener("change", () => { theme = input.value; keep("theme", theme); draw(); });
    }
    const menu = document.getElementById("menu");
    addEventListener("pointerdown", (event) => { if (menu.open && !menu.contains(event.target)) menu.open = false; });
    addEventListener("keydown", (event) => { if (event.key === "Escape" && menu.open) { menu.open = false; menu.querySelector("summary").focus(); } });
  });
})();
