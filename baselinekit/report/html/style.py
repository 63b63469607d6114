"""How the HTML report looks, and what its script adds: filters, and nothing that is needed to read it."""


# How the HTML report looks: light or dark as the reader's system is, narrow or wide, and on paper.

STYLE = """
:root {
  color-scheme: light dark;
  --page: #ffffff; --card: #f6f8fa; --edge: #d0d7de; --text: #1f2328; --dim: #59636e; --link: #0550ae;
  --failed: #b3261e; --error: #8a3a9c; --unscored: #8a5300; --skipped: #59636e; --passed: #116329;
  --gone: #ffebe9; --came: #dafbe1; --gone-mark: #ffb8b0; --came-mark: #94e6a8; --on: #ffffff;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0d1117; --card: #161b22; --edge: #363d47; --text: #e6edf3; --dim: #9da7b3; --link: #79c0ff;
    --failed: #ff8f85; --error: #d8a6ff; --unscored: #e3b341; --skipped: #9da7b3; --passed: #6fdd8b;
    --gone: #40191b; --came: #12321d; --gone-mark: #86302f; --came-mark: #1f6b38; --on: #0d1117;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 5rem; }
body {
  margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 76rem; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif;
}
code, kbd, .lines, .place, .said, dd {
  font-family: ui-monospace, "SF Mono", Menlo, "Liberation Mono", monospace; font-size: 13px;
}
code, dd, .place, .name, p { overflow-wrap: anywhere; }
h1 { margin: 0; font-size: 1.5rem; line-height: 1.3; }
h1 small { display: block; font-size: .85rem; font-weight: 600; color: var(--dim); }
h1 .but { display: block; font-size: .95rem; font-weight: 400; color: var(--unscored); }
h2 { margin: 2rem 0 .5rem; font-size: 1.05rem; }
h3 { margin: 0; padding: .35rem .7rem; font-size: 13px; font-weight: 400; display: flex; gap: .2rem 1rem;
  flex-wrap: wrap; }
h3 code { font-weight: 600; }
h3 .place { margin-left: auto; }
ol { margin: .5rem 0; padding-left: 2.2rem; } main > details > summary { cursor: pointer; }
li { overflow-wrap: anywhere; }
p { margin: .5rem 0; }
.dim, .place, .said, .at, small { color: var(--dim); }
.failed { --tone: var(--failed); } .error { --tone: var(--error); } .unscored { --tone: var(--unscored); }
.skipped { --tone: var(--skipped); } .passed { --tone: var(--passed); }
header { display: flex; flex-wrap: wrap; gap: 1rem 2rem; align-items: flex-start; }
header > div:first-child { flex: 1 1 24rem; min-width: 0; }
.tally { display: flex; flex-wrap: wrap; gap: .3rem .9rem; margin: .4rem 0 0; padding: 0; list-style: none; }
.tally b, .outcome { color: var(--tone); }
.figure { margin: 0; } .figure small { display: block; font-size: 12px; }
.picture { display: block; max-width: 100%; overflow: visible; }
.picture rect, .picture circle { fill: var(--tone); }
.picture .passed { opacity: .55; } .picture .taken { fill: var(--link); }
.picture .scale { fill: var(--edge); } .picture .between { fill: var(--link); opacity: .45; }
.picture .value { fill: var(--link); } .picture .least { fill: var(--text); }
.picture .line { fill: none; stroke: var(--dim); stroke-width: 1.3; }
aside {
  margin: 1rem 0; padding: .1rem 1rem; border-left: 4px solid var(--unscored); background: var(--card);
}
.tools {
  position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; gap: .4rem 1rem; align-items: center;
  margin: 1.2rem -1rem .6rem; padding: .6rem 1rem; background: var(--page);
  border-bottom: 1px solid var(--edge);
}
.tools[hidden], .only-script[hidden] { display: none; }
.only-script { display: contents; }
fieldset { display: flex; flex-wrap: wrap; gap: .1rem .8rem; margin: 0; padding: 0; border: 0; min-width: 0; }
legend { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
label { white-space: nowrap; }
input[type=search] {
  flex: 1 1 14rem; min-width: 0; padding: .35rem .6rem; font: inherit; color: inherit;
  background: var(--card); border: 1px solid var(--edge); border-radius: 6px;
}
button {
  padding: .3rem .7rem; font: inherit; font-size: 13px; color: inherit; background: var(--card);
  border: 1px solid var(--edge); border-radius: 6px; cursor: pointer;
}
button:hover { border-color: var(--dim); }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.result { border-bottom: 1px solid var(--edge); }
.result { content-visibility: auto; contain-intrinsic-size: auto 2.3rem; }
.result[hidden] { display: none; }
.row {
  display: grid; grid-template-columns: 1.1rem 5.2rem minmax(6rem, 18rem) 1fr auto 5rem; gap: 0 .7rem;
  align-items: baseline; padding: .35rem .2rem; list-style: none;
}
summary.row { cursor: pointer; } summary.row::-webkit-details-marker { display: none; }
summary.row::before { content: "\\25b8"; color: var(--dim); }
[open] > summary.row::before { content: "\\25be"; }
div.row::before { content: ""; }
summary.row:hover, .result:target > .row { background: var(--card); }
th.failed, th.passed { color: var(--tone); white-space: nowrap; } .tone { color: var(--tone); }
.outcome { font-weight: 600; }
.took { text-align: right; font-variant-numeric: tabular-nums; color: var(--dim); }
.id { font-weight: 600; } .name { color: var(--dim); min-width: 0; }
.inside { padding: 0 0 1rem 2rem; }
.where { display: flex; flex-wrap: wrap; gap: .1rem 1.5rem; margin: 0 0 .6rem; }
.diff { margin: .6rem 0; border: 1px solid var(--edge); border-radius: 6px; overflow: hidden; }
.diff h3 { background: var(--card); }
.lines { white-space: pre-wrap; overflow-wrap: anywhere; border-top: 1px solid var(--edge); }
.plain > div, .lines .gone > div, .lines .came > div, .both > div, .at, .lines .said {
  padding: .05rem .7rem;
}
.lines .gone { background: var(--gone); } .lines .came { background: var(--came); }
.lines .gone:empty, .lines .came:empty { background: var(--card); }
.gone mark { background: var(--gone-mark); } .came mark { background: var(--came-mark); }
mark { color: inherit; border-radius: 2px; }
.at { background: var(--card); } .again { display: none; }
table { border-collapse: collapse; margin: .5rem 0; font-size: 13px; max-width: 100%; }
th, td { padding: .2rem .9rem .2rem 0; text-align: left; vertical-align: top; overflow-wrap: anywhere; }
thead th, caption { color: var(--dim); font-weight: 400; text-align: left; }
tbody th { font-weight: 400; }
.wide { overflow-x: auto; } .wide th, .wide td { overflow-wrap: normal; }
.wide td { max-width: 44rem; overflow-wrap: anywhere; } .wide thead th { white-space: nowrap; }
.figures td, .figures th { font-variant-numeric: tabular-nums; white-space: nowrap; }
.figures tbody tr { border-top: 1px solid var(--edge); }
.beside { display: flex; flex-wrap: wrap; gap: 0 3rem; align-items: flex-start; }
td .failed, td .error, td .unscored { color: var(--tone); }
.noted { margin: .1rem 0; gap: 0 .7rem; grid-template-columns: fit-content(12rem) 1fr; }
.noted dd, .noted dt { font-size: 12px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .5rem 0; }
dt { color: var(--dim); } dd { margin: 0; }
.renew { padding: .4rem .8rem; background: var(--card); border-radius: 6px; }
footer { margin-top: 2rem; color: var(--dim); font-size: 13px; }
kbd { padding: 0 .3rem; border: 1px solid var(--edge); border-radius: 4px; }
@media (min-width: 48rem) {
  body:has(#beside:checked) .pair { display: grid; grid-template-columns: 1fr 1fr; }
  body:has(#beside:checked) .again { display: block; }
  body:has(#beside:checked) .pair > div + div { border-left: 1px solid var(--edge); }
}
@media (max-width: 48rem) {
  .row { grid-template-columns: 1.1rem 4.6rem 1fr auto; }
  .row .name { grid-column: 3 / -1; } .row .spark, .row .name:empty { display: none; }
  .row .took { grid-column: 4; grid-row: 1; }
  .inside { padding-left: .2rem; } .tools { position: static; } .layout { display: none; }
  h3 .place { margin-left: 0; }
}
@media print {
  body { max-width: none; padding: 0; font-size: 11px; } .tools, footer kbd, .keys { display: none; }
  .result { content-visibility: visible; } .diff, tr { break-inside: avoid; } h2 { break-after: avoid; }
  table, .noted dd, .noted dt, code, .place, .lines { font-size: 10px; } th, td { padding-right: .6rem; }
  .wide { overflow: visible; } .figures td, .figures th, .wide thead th { white-space: normal; }
  .lines .gone, .lines .came, mark { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
@media (prefers-reduced-motion: no-preference) { html { scroll-behavior: smooth; } }
"""


# What the HTML report can do besides being read. Without it everything is there too, only not filtered.
# It takes no text for markup: it hides, opens and counts what stands in the page.


SCRIPT = """
(function () {
  "use strict";
  var get = function (id) { return document.getElementById(id); };
  var all = function (which) { return Array.prototype.slice.call(document.querySelectorAll(which)); };
  var filter = get("filter"), said = get("said"), results = all(".result"), boxes = all("[data-do=outcome]");
  var texts = null, waiting = 0;
  all(".only-script").forEach(function (part) { part.hidden = false; });

  function update() {
    waiting = 0;
    var words = filter.value.toLowerCase().split(/\\s+/).filter(Boolean), wanted = {}, count = 0;
    boxes.forEach(function (box) { wanted[box.value] = box.checked; });
    if (words.length && !texts) {
      texts = results.map(function (result) { return result.textContent.toLowerCase(); });
    }
    results.forEach(function (result, number) {
      var shown = wanted[result.dataset.outcome] !== false && words.every(function (word) {
        return texts[number].indexOf(word) >= 0;
      });
      if (result.hidden === shown) { result.hidden = !shown; }
      count += shown;
    });
    said.textContent = count === results.length ? "" : count + " of " + results.length + " shown";
  }
  function soon() { if (!waiting) { waiting = setTimeout(update, 60); } }
  function shown() { return results.filter(function (result) { return !result.hidden; }); }
  function open(how) { shown().forEach(function (result) { if ("open" in result) { result.open = how; } }); }
  function step(by) {
    var rows = shown().map(function (result) { return result.querySelector("summary"); }).filter(Boolean);
    var at = rows.indexOf(document.activeElement), next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : at + by;
    if (rows[next]) { rows[next].focus(); rows[next].scrollIntoView({block: "nearest"}); }
  }
  function target() {
    var found = location.hash && get(location.hash.slice(1));
    if (found && "open" in found) { found.open = true; found.scrollIntoView(); }
  }

  filter.addEventListener("input", soon);
  boxes.forEach(function (box) { box.addEventListener("change", update); });
  get("open").addEventListener("click", function () { open(true); });
  get("close").addEventListener("click", function () { open(false); });
  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey) { return; }
    var typing = event.target === filter;
    if (event.key === "Escape" && typing) { filter.value = ""; update(); filter.blur(); }
    else if (typing || event.target.tagName === "INPUT" && event.key.indexOf("Arrow") === 0) { return; }
    else if (event.key === "/") { event.preventDefault(); filter.focus(); }
    else if (event.key === "j") { step(1); }
    else if (event.key === "k") { step(-1); }
  });
  addEventListener("hashchange", target);
  addEventListener("beforeprint", function () {
    shown().forEach(function (result) { if (result.dataset.outcome === "failed") { result.open = true; } });
  });
  update();
  target();
})();
"""
