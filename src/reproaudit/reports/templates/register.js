"use strict";
(() => {
  const form = document.getElementById("filters");
  const told = document.getElementById("shown");
  const tables = ["papers", "claims"].map((name) => document.getElementById(name + "-table"));
  const rowsOf = (table) => [...table.querySelectorAll("tbody tr")];
  const [paperRows, claimRows] = tables.map(rowsOf);
  const others = [...document.querySelectorAll("[data-follows]")];
  const text = new Map([...paperRows, ...claimRows].map((row) => [row, textOf(row)]));
  const first = new Map(tables.map((table) => [table, [...table.tBodies]]));
  const ofPaper = new Map(paperRows.map((row) => [row.dataset.of, row]));
  const OF_CLAIMS = ["verdict", "status", "evidence", "by", "hangs"];
  const OF_PAPERS = ["venue", "year"];

  function textOf(row) {
    return (row.textContent + " " + (row.dataset.search || "")).toLowerCase();
  }

  function fits(row, data, names) {
    return names.every((name) => {
      const wanted = data.getAll(name).filter((value) => value !== "");
      const has = (row.dataset[name] || "").split("\n");
      return wanted.length === 0 || wanted.some((value) => has.includes(value));
    });
  }

  function filter() {
    const data = new FormData(form);
    const words = data.get("q").toLowerCase().split(/\s+/).filter(Boolean);
    const says = (row) => words.every((word) => text.get(row).includes(word));
    const byClaim = OF_CLAIMS.some((name) => data.getAll(name).some((value) => value !== ""));
    const withClaims = new Set();
    for (const row of claimRows) {
      const paper = ofPaper.get(row.dataset.of);
      const said = says(row) || says(paper);
      row.hidden = !(said && fits(paper, data, OF_PAPERS) && fits(row, data, OF_CLAIMS));
      if (!row.hidden) withClaims.add(row.dataset.of);
    }
    for (const row of paperRows) {
      const itself = !byClaim && says(row) && fits(row, data, OF_PAPERS);
      row.hidden = !(itself || withClaims.has(row.dataset.of));
    }
    for (const one of others) {
      one.classList.toggle("left-out", ofPaper.get(one.dataset.follows).hidden);
    }
    const count = (rows) => rows.filter((row) => !row.hidden).length + " of " + rows.length;
    told.textContent = count(claimRows) + " claims and " + count(paperRows) + " papers shown";
  }

  function compare(one, other) {
    const [a, b] = [Number(one), Number(other)];
    if (one !== "" && other !== "" && !Number.isNaN(a) && !Number.isNaN(b)) return a - b;
    return one.localeCompare(other);
  }

  function sort(table) {
    const [name, way] = form.elements["sort-" + table.dataset.name].value.split(":");
    const bodies = [...first.get(table)];
    if (name) {
      const sign = way === "down" ? -1 : 1;
      const key = (body) => body.dataset["sort" + name[0].toUpperCase() + name.slice(1)] || "";
      bodies.sort((a, b) => sign * compare(key(a), key(b)));
    }
    table.append(...bodies);
    for (const head of table.tHead.rows[0].cells) {
      const order = way === "down" ? "descending" : "ascending";
      if (head.dataset.sort) head.setAttribute("aria-sort", head.dataset.sort === name ? order : "none");
    }
  }

  function remember() {
    const kept = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (value !== "") kept.append(name, value);
    const hash = kept.toString();
    if (hash || location.hash.includes("=")) history.replaceState(null, "", "#" + hash);
  }

  function recall() {
    if (!location.hash.includes("=")) return;
    form.reset();
    for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
      for (const field of form.querySelectorAll("[name='" + CSS.escape(name) + "']")) {
        if (field.type === "checkbox") field.checked ||= field.value === value;
        else if (field.tagName !== "SELECT") field.value = value;
        else if ([...field.options].some((option) => option.value === value)) field.value = value;
      }
    }
  }

  function update() {
    filter();
    tables.forEach(sort);
    remember();
  }

  for (const table of tables) {
    for (const head of table.tHead.rows[0].cells) {
      if (!head.dataset.sort) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const field = form.elements["sort-" + table.dataset.name];
        const [up, down] = [head.dataset.sort + ":up", head.dataset.sort + ":down"];
        const [one, other] = head.dataset.first === "down" ? [down, up] : [up, down];
        field.value = field.value === one ? other : one;
        update();
      });
    }
  }
  form.addEventListener("input", update);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(update));
  addEventListener("hashchange", () => { recall(); update(); });
  form.hidden = false;
  document.documentElement.classList.add("scripted");
  recall();
  update();
})();
