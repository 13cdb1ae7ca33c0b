"use strict";
(() => {
  const root = document.documentElement;
  const find = (selector) => document.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // Light or dark: the system's, until a button says otherwise.
  const system = matchMedia("(prefers-color-scheme: dark)");
  const theme = find("#theme");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const label = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
  const stored = (value) => {
    try { // a page opened from a file may have no storage
      if (value) localStorage.setItem("theorykit-theme", value);
      return localStorage.getItem("theorykit-theme");
    } catch { return null; }
  };
  if (stored()) root.dataset.theme = stored();
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    stored(root.dataset.theme);
    label();
  });
  system.addEventListener("change", label);
  theme.hidden = false;
  label();

  // A link to a claim opens it, and the claims around what is looked at.
  const reveal = () => {
    let node = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!node || !node.matches(".claim")) return;
    if (node.hidden) clear();
    node.open = true;
    node.scrollIntoView();
    node.querySelector("summary").focus({ preventScroll: true });
  };
  addEventListener("hashchange", reveal);
  document.addEventListener("click", (event) => { // the same link again
    const link = event.target.closest('a[href^="#claim-"]');
    if (link && link.getAttribute("href") === location.hash) reveal();
  });

  // Copying.
  const copy = async (text) => {
    try { await navigator.clipboard.writeText(text); return true; } catch { /* no permission */ }
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest(".copy");
    if (!button) return;
    const done = await copy(button.parentElement.querySelector("code").textContent);
    button.textContent = done ? "Copied" : "Not copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });

  // What has to be scrolled can be reached by keyboard.
  const reach = () => all(".statement, .assuming, pre").forEach((box) => {
    if (box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1) {
      box.tabIndex = 0;
    } else {
      box.removeAttribute("tabindex");
    }
  });
  let soon = 0;
  const reachSoon = () => { clearTimeout(soon); soon = setTimeout(reach, 50); };
  document.addEventListener("toggle", reachSoon, true);
  addEventListener("resize", reachSoon);
  (window.requestIdleCallback || setTimeout)(reach);

  // On paper everything that is shown is open.
  let opened = [];
  addEventListener("beforeprint", () => {
    const closed = all("details:not([open])").filter((d) => !d.hidden);
    closed.forEach((d) => { d.open = true; });
    opened = opened.concat(closed);
  });
  addEventListener("afterprint", () => { opened.forEach((d) => { d.open = false; }); opened = []; });

  const form = find("#filters");
  if (!form) return;
  form.hidden = false;
  const rows = all("#table tbody tr").map((row) => {
    const section = document.getElementById(row.dataset.for);
    const text = [".id", ".ref", ".measured"].map((c) => row.querySelector(c).textContent).join(" ");
    const words = section.querySelector(".columns p");
    return { row, section, text: `${text} ${words ? words.textContent : ""}`.toLowerCase() };
  });
  const chips = all(".chip");
  const search = find("#search");

  // Filters: any of the values of one name, all of the names.
  const filter = () => {
    const wanted = new Map();
    for (const chip of chips.filter((c) => c.getAttribute("aria-pressed") === "true")) {
      const values = wanted.get(chip.dataset.name) || new Set();
      wanted.set(chip.dataset.name, values.add(chip.dataset.value));
    }
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const { row, section, text } of rows) {
      const fits = [...wanted].every(([name, values]) => values.has(row.dataset[name]))
        && words.every((word) => text.includes(word));
      row.hidden = section.hidden = !fits;
      count += fits;
    }
    find("#tally").textContent = count === rows.length ? `${count} claims` : `${count} of ${rows.length} claims`;
    find("#nothing").hidden = count > 0;
  };
  const clear = () => {
    chips.forEach((chip) => chip.setAttribute("aria-pressed", "false"));
    search.value = "";
    filter();
  };
  chips.forEach((chip) => chip.addEventListener("click", () => {
    chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
    filter();
  }));
  search.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  find("#clear").addEventListener("click", clear);
  find("#open").addEventListener("click", () => {
    const shown = rows.filter(({ section }) => !section.hidden).map(({ section }) => section);
    const open = shown.some((section) => !section.open);
    shown.forEach((section) => { section.open = open; });
    find("#open").textContent = open ? "Close all shown" : "Open all shown";
  });

  // Sorting: a column up, down, up; equal rows keep their order.
  const heads = all("#table thead th");
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    heads.forEach((h) => h.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = ({ row }) => row.cells[column].dataset.key || row.cells[column].textContent.trim();
    const order = (a, b) => key(a).localeCompare(key(b), "en", { numeric: true });
    rows.sort((a, b) => (up ? order(a, b) : order(b, a)));
    find("#table tbody").append(...rows.map(({ row }) => row));
    find(".sections").append(...rows.map(({ section }) => section));
  }));
  filter();
  reveal();
})();
