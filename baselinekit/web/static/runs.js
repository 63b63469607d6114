// Runs: the list of them, one case by case, two side by side, and how each metric went.
import {blocks, percent, table} from "./blocks.js";
import {announce, button, buttons, count, fill, h, onKeys, show} from "./dom.js";
import {histogram, short, trend} from "./plots.js";

const ROW = 32;
const COLUMNS = [
  ["outcome", "outcome"], ["case", "id"], ["tags", "tags"], ["difficulty", "difficulty"], ["model", "model"],
  ["score", "score"], ["time", "seconds"], ["tokens", "tokens"], ["attempts", "attempts"]
];
const FILTERS = ["outcome", "tags", "graders", "difficulty", "model", "category"];

export function runsPage(root, api) {
  const body = h("div", {}), kept = new Map();  // how each run was filtered and sorted

  async function route() {
    if (!/^(#runs|$)/.test(location.hash)) return;
    fill(body, h("p", {className: "dim"}, "Loading …"));
    try {
      const [, name, other] = location.hash.slice(1).split("/").map(decodeURIComponent);
      if (name && other) await two(name, other);
      else if (name) await one(name);
      else await list();
    } catch (error) { fill(body, h("p", {className: "warning"}, error.message)); }
  }

  const address = (...names) => `#runs/${names.map(encodeURIComponent).join("/")}`;

  // All runs, and their trends.

  async function list() {
    const {runs} = await api.get("runs");
    if (!runs.length) {
      fill(body,
        h("p", {}, "No run is kept here yet: ", h("code", {}, "baselinekit run"), " or ",
          h("code", {}, "baselinekit compare"), "."));
      return;
    }
    const good = runs.filter((run) => !run.unreadable), suites = [...new Set(good.map((run) => run.suite))];
    const chosen = [];
    const compare =
      button("Compare the two", () => { location.hash = address(chosen[1], chosen[0]); }, {disabled: true});
    const choose = (run) => h("input", {
      type: "checkbox",
      "aria-label": `Compare ${run.id} of ${run.started}`,
      onchange: (event) => {
        if (event.target.checked) chosen.push(run.name);
        else chosen.splice(chosen.indexOf(run.name), 1);
        chosen.sort((a, b) => runs.findIndex((one) => one.name === a) - runs.findIndex((one) => one.name === b));
        compare.disabled = chosen.length !== 2;
        compare.textContent = chosen.length > 2 ? "Compare: choose only two" : "Compare the two";
      }
    });
    const outcomes =
      ["passed", "failed", "error", "unscored", "skipped"].filter((one_) => good.some((run) => run.counts[one_]));
    const rows = good.map(
      (run) =>
        h("tr", {}, h("td", {}, choose(run)), h("th", {scope: "row"}, h("a", {href: address(run.name)}, run.started)),
          h("td", {}, run.suite || "compare", run.is_named ? h("small", {}, ` ${run.name}`) : ""),
          outcomes.map((outcome) => h("td", {},
                         run.counts[outcome] ? h("span", {className: `${outcome} tone`}, run.counts[outcome]) : "")),
          h("td", {}, percent(run.metrics["pass rate"])), h("td", {}, `${run.seconds.toFixed(1)} s`),
          h("td", {}, run.commit ? h("code", {}, run.commit.slice(0, 12)) : "")));
    const heads = ["compare", "started", "suite", ...outcomes, "pass rate", "took", "commit"];
    const trends = suites
                     .flatMap((suite) => {
                       const own = good.filter((run) => run.suite === suite).reverse();
                       return [...new Set(own.flatMap((run) => Object.keys(run.metrics)))].map(
                         (name) => trend(`${suite || "compare"}: ${name}`,
                           own.map((run) => (name in run.metrics ? run.metrics[name] : null))));
                     })
                     .filter(Boolean);
    fill(body, trends.length ? [h("h2", {}, "Trends"), h("div", {className: "plots"}, trends)] : null,
      h("h2", {}, count(runs.length, "run")), buttons(compare),
      h("div", {className: "wide", tabIndex: 0, role: "region", "aria-label": "Runs"},
        h("table", {className: "figures list"},
          h("thead", {}, h("tr", {}, heads.map((head) => h("th", {scope: "col"}, head)))), h("tbody", {}, rows))),
      runs.length > good.length ? h("p", {className: "warning"},
                                    `${count(runs.length - good.length, "file")} cannot be read: ${
                                      runs.filter((run) => run.unreadable).map((run) => run.name).join(", ")}`) :
                                  null);
  }

  // One run: rows are drawn only where they are seen.

  async function one(name) {
    const run = await api.get("runs/rows", {run: name});
    const state = kept.get(name) || {sort: "outcome", down: false, words: "", chosen: {}, rows: [], at: -1};
    kept.set(name, state);
    const inner = h("div", {className: "grid-inner"}), detail = h("section", {"aria-label": "Details", tabIndex: -1}),
          shown = h("span", {className: "dim", role: "status"});
    const grid = h("div", {className: "grid", tabIndex: 0, role: "listbox", "aria-label": "Cases"}, inner);
    const head = h("div", {className: "grid-head"});
    for (const row of run.rows) row.text = [row.id, row.name, row.why, row.tags.join(" ")].join(" ").toLowerCase();

    const rank = ["failed", "error", "unscored", "skipped", "passed"];
    const value = (row) => (state.sort === "outcome" ? rank.indexOf(row.outcome) :
        state.sort === "tags"                        ? row.tags.join(" ") :
                                                       row[state.sort]);
    function update() {
      const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
      const fits = (row) => Object.entries(state.chosen).every(([key,
        wanted]) => !wanted || (Array.isArray(row[key]) ? row[key].includes(wanted) : row[key] === wanted)) &&
        words.every((word) => row.text.includes(word));
      state.rows = run.rows.filter(fits).sort((a, b) => {
        const x = value(a), y = value(b), order = x === y ? 0 : x === null ? -1 : y === null ? 1 : x < y ? -1 : 1;
        return (state.down ? -order : order) || (a.id < b.id ? -1 : 1);
      });
      inner.style.height = `${state.rows.length * ROW}px`;
      grid.style.height = `min(62vh, ${Math.max(1, state.rows.length) * ROW + 2}px)`;
      shown.textContent = `${state.rows.length.toLocaleString("en")} of ${run.rows.length.toLocaleString("en")} shown`;
      state.at = -1;
      grid.scrollTop = 0;
      draw(true);
      drawHead();
      drawPlots();
    }
    let drawn = [-1, -1];
    function draw(isForced) {
      const first = Math.max(0, Math.floor(grid.scrollTop / ROW) - 10),
            last = Math.min(state.rows.length, first + Math.ceil(grid.clientHeight / ROW) + 20);
      if (!isForced && drawn[0] === first && drawn[1] === last) return;
      drawn = [first, last];
      inner.replaceChildren(...state.rows.slice(first, last).map((row, n) => line(row, first + n)));
    }
    function line(row, number) {
      const cells = [
        h("span", {className: `${row.outcome} tone`}, row.outcome), h("span", {title: row.name}, row.id),
        h("span", {}, row.tags.join(" ")), h("span", {}, row.difficulty), h("span", {}, row.model),
        h("span", {}, row.score === null ? "" : row.score.toFixed(3)), h("span", {}, `${row.seconds.toFixed(2)} s`),
        h("span", {}, short(row.tokens + row.judged_tokens)),
        h("span", {}, row.attempts > 1 ? `${row.passed}/${row.attempts}` : "")
      ];
      const element = h("div", {
        className: "grid-row",
        role: "option",
        id: `row-${number}`,
        "aria-selected": String(number === state.at),
        "aria-posinset": number + 1,
        "aria-setsize": state.rows.length,
        onclick: () => select(number)
      },
        cells);
      element.style.top = `${number * ROW}px`;
      return element;
    }
    function drawHead() {
      fill(head,
        COLUMNS.map(([label, key]) => button(label + (state.sort === key ? (state.down ? " ▾" : " ▴") : ""), () => {
          state.down = state.sort === key ? !state.down : false;
          state.sort = key;
          update();
        }, {"aria-label": `Sort by ${label}`})));
    }
    async function select(number) {
      if (!state.rows.length) return;
      state.at = Math.max(0, Math.min(state.rows.length - 1, number));
      const top = state.at * ROW;
      if (top < grid.scrollTop) grid.scrollTop = top;
      else if (top + ROW > grid.scrollTop + grid.clientHeight) grid.scrollTop = top + ROW - grid.clientHeight;
      draw(true);
      grid.setAttribute("aria-activedescendant", `row-${state.at}`);
      const id = state.rows[state.at].id;
      const shown_ = await api.get("runs/case", {run: name, id})
                       .then(caseDetail, (error) => h("p", {className: "warning"}, error.message));
      if (state.rows[state.at] && state.rows[state.at].id === id) fill(detail, shown_);
    }
    grid.addEventListener("scroll", () => requestAnimationFrame(() => draw(false)));
    grid.addEventListener("keydown", (event) => {
      const steps = {
        ArrowDown: state.at + 1,
        ArrowUp: state.at - 1,
        Home: 0,
        End: state.rows.length - 1,
        PageDown: state.at + 15,
        PageUp: state.at - 15
      };
      if (event.key in steps) {
        event.preventDefault();
        select(steps[event.key]);
      } else if (event.key === "Enter") detail.focus();
    });
    const search = h("input", {
      type: "search",
      placeholder: "Search: id, name, reason, tag",
      "aria-label": "Search the cases",
      value: state.words,
      oninput: () => {
        state.words = search.value;
        update();
      }
    });
    const selects = FILTERS.map((key) => {
      const values = [...new Set(run.rows.flatMap((row) => row[key]))].filter(Boolean).sort();
      if (values.length < 2 && key !== "outcome") return null;
      return h("label", {}, `${key} `,
        h("select", {
          onchange: (event) => {
            state.chosen[key] = event.target.value;
            update();
          }
        },
          h("option", {value: ""}, "all"),
          values.map((one_) => h("option", {value: one_, selected: state.chosen[key] === one_}, one_))));
    });
    const plots = h("div", {className: "plots"});
    function drawPlots() {
      const of = (key, minus) => state.rows.map((row) => row[key] - (minus ? row[minus] : 0));
      fill(plots,
        histogram("Time", "s", [["tested", of("seconds", "judged_seconds")], ["judge", of("judged_seconds")]]),
        histogram("Tokens", "tokens", [["tested", of("tokens")], ["judge", of("judged_tokens")]]),
        histogram("Cost", "USD", [["tested", of("usd")], ["judge", of("judged_usd")]]));
    }
    focusSearch = () => search.focus();
    fill(body, h("p", {}, h("a", {href: "#runs"}, "All runs")), h("h2", {}, run.started),
      h("p", {className: "dim"}, run.command, run.commit && [" · ", h("code", {}, run.commit.slice(0, 12))]),
      h("div", {className: "tools", role: "search"}, search, selects, shown), head, grid, detail,
      h("details", {open: true}, h("summary", {}, "Time, tokens, cost"),
        h("p", {}, h("span", {className: "legend tested"}, "tested"), " ",
          h("span", {className: "legend judge"}, "judge")),
        plots),
      run.blocks.length ? h("details", {open: true}, h("summary", {}, "Metrics"), blocks(run.blocks)) : null);
    update();
  }

  function caseDetail(found) {
    const split = (attempt) =>
      (attempt.judged_seconds ? ` (${(attempt.seconds - attempt.judged_seconds).toFixed(2)} s tested, ${
                                  attempt.judged_seconds.toFixed(2)} s judged)` :
                                "");
    const exchange = (one_) => [h("h4", {}, one_.grader ? `Judge: ${one_.grader}` : "Asked",
                                  one_.model && h("small", {}, ` ${one_.model}`)),
      h("div", {className: "transcript"}, one_.question), h("h4", {}, one_.grader ? "Reply of the judge" : "Answer"),
      h("div", {className: "transcript"}, one_.reply)];
    const attempts =
      found.attempts.map(
        (attempt) => h("details", {open: found.attempts.length === 1 && attempt.transcript.length > 0},
          h("summary", {}, `Attempt ${attempt.number}: `,
            h("span", {className: `${attempt.outcome} tone`}, attempt.outcome),
            ` ${attempt.seconds.toFixed(2)} s${split(attempt)}`),
          attempt.reason ? h("p", {}, attempt.reason) : null,
          attempt.transcript.length ? attempt.transcript.map(exchange) :
                                      [
                                        attempt.output === null ? null :
                                                                  h("div", {className: "transcript"}, attempt.output),
                                        h("p", {className: "dim"}, "What was asked is kept with ",
                                          h("code", {}, "run --transcripts -o results.json"), ".")
                                      ],
          attempt.grades.length ?
            table(["grader", "kind", "outcome", "score", "why"],
              attempt.grades.map(
                (grade) => [{text: grade.grader, is_code: true}, grade.kind, {text: grade.outcome, tone: grade.outcome},
                  grade.score === null ? "" : grade.score.toFixed(3), grade.reason])) :
            null));
    announce(`${found.id}: ${found.outcome}`);
    return [h("h2", {}, h("code", {}, found.id)), blocks(found.blocks), attempts];
  }

  // Two runs: what flipped, and whether chance explains it.

  async function two(before, now) {
    const found = await api.get("runs/compare", {before, run: now});
    const flips = found.flips.map((flip) => [{text: flip.id, is_code: true}, {text: flip.before, tone: flip.before},
                                    {text: flip.now, tone: flip.now}, flip.why]);
    const test = !found.both ?
      `These runs have no case in common${found.edited ? " that is still the same" : ""}.` :
      found.lost + found.won ?
      `${found.lost} lost and ${found.won} won of ${found.both} in both; a split as uneven has p = ${
        found.p.toPrecision(3)} by chance (exact McNemar test).` :
      `Nothing flipped between passed and failed in ${found.both} that are in both.`;
    const edited = found.edited ?
      ` ${count(found.edited, "case")} of another definition ${found.edited > 1 ? "are" : "is"} not counted.` :
      "";
    fill(body, h("p", {}, h("a", {href: "#runs"}, "All runs")), h("h2", {}, "Two runs"),
      h("p", {className: "dim"}, h("a", {href: address(before)}, before), " → ", h("a", {href: address(now)}, now)),
      h("p", {}, test, edited), flips.length ? table(["case", "before", "now", "why"], flips, false) : null,
      ["added", "gone"].map(
        (word) => (found[word].length ? h("p", {}, `${word}: ${found[word].slice(0, 50).join(", ")}`) : null)),
      blocks(found.blocks));
  }

  let focusSearch = () => {};
  const help = () => show("Keys", "/ search · in the list ↑ ↓ Home End Page keys · Enter goes to the details");
  onKeys(root, {"/": () => focusSearch(), "?": help});
  window.addEventListener("hashchange", route);
  fill(root, h("h1", {}, "Runs"), body);
  route();
}
