"use strict";
(() => {
  const settings = {
    responsive: true,
    displaylogo: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  };
  const plots = [...document.querySelectorAll(".plot")];
  const narrow = () => window.innerWidth < 600;

  function draw(plot) {
    if (plot.dataset.drawn) return;
    plot.dataset.drawn = "yes";
    const source = plot.querySelector("script");
    const figure = JSON.parse(source.textContent);
    source.remove();
    if (narrow()) {
      figure.layout.margin = { ...figure.layout.margin, l: 50, r: 6 };
      figure.layout.font = { ...figure.layout.font, size: 11 };
      figure.layout.dragmode = false; // a finger scrolls the page
      if (figure.data.length > 4 && figure.layout.showlegend !== false && figure.data[0].type === "scatter") {
        figure.layout.height += 14 * figure.data.length; // the legend takes a line for each joint
      }
    }
    Plotly.newPlot(plot, figure.data, figure.layout, settings).then(() => {
      if (plot.dataset.group) plot.on("plotly_relayout", (change) => follow(plot, change));
    });
  }

  let following = false;
  function follow(leader, change) {
    if (following) return;
    const update = {};
    if ("xaxis.range[0]" in change) update["xaxis.range"] = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
    else if (change["xaxis.autorange"]) update["xaxis.autorange"] = true;
    else return;
    following = true;
    const others = plots.filter((p) => p !== leader && p.dataset.group === leader.dataset.group);
    others.forEach(draw);
    Promise.all(others.map((p) => Plotly.relayout(p, update))).finally(() => { following = false; });
  }

  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        observer.unobserve(entry.target);
        draw(entry.target);
      }
    }
  }, { rootMargin: "300px" });
  plots.forEach((plot) => observer.observe(plot));

  const folds = [...document.querySelectorAll("section details")];
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = folds.filter((fold) => !fold.open); // on paper everything is open
    closed.forEach((fold) => { fold.open = true; });
    plots.forEach(draw);
    for (const svg of document.querySelectorAll(".plot .main-svg")) { // figures as wide as the paper
      const [width, height] = [svg.getAttribute("width"), svg.getAttribute("height")];
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      svg.parentElement.style.setProperty("--aspect", `${width} / ${height}`);
    }
  });
  window.addEventListener("afterprint", () => {
    closed.forEach((fold) => { fold.open = false; });
    for (const svg of document.querySelectorAll(".plot .main-svg")) svg.removeAttribute("viewBox");
  });
  function unfold() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const fold = target && target.querySelector("details");
    if (fold) fold.open = true;
  }
  window.addEventListener("hashchange", unfold);
  for (const link of document.querySelectorAll("nav a")) link.addEventListener("click", () => setTimeout(unfold));
  unfold();

  function key(row, column, kind) {
    const cell = row.children[column];
    if (kind === "text") return cell.textContent.trim();
    const value = cell.dataset.value;
    return value === undefined || value === "" ? NaN : Number(value);
  }

  function sort(table, column, kind, direction) {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    rows.sort((one, two) => {
      const a = key(one, column, kind);
      const b = key(two, column, kind);
      if (kind === "text") return direction * a.localeCompare(b, "en", { numeric: true });
      if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
      return direction * (a - b);
    });
    body.append(...rows);
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        sort(table, column, head.dataset.kind, up ? 1 : -1);
      });
    });
  }

  const contents = document.querySelector("nav details");
  if (window.innerWidth < 1000) contents.removeAttribute("open");
})();
