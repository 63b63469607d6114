// One output at a time: what it answers, how to rate it, and the rating. A rating that cannot be sent is kept
// in this browser until the server answers again.
import {percent, table} from "./blocks.js";
import {announce, button, buttons, count, dialog, download, fill, h, onKeys, recall, remember, show} from "./dom.js";

const KEYS = [
  ["1 – 9", "answer the question"], ["Enter", "save and go on"], ["s", "skip, with a reason"],
  ["u", "undo the last rating"], ["m", "mark the selected words"], ["n", "write a note"], ["← →", "other items"],
  ["?", "this list"]
];

export function ratePage(root, api, about) {
  const outboxKey = `baselinekit-outbox-${about.id}-${about.name}`;
  const draftKey = (key) => `baselinekit-draft-${about.id}-${about.name}-${key}`;
  const state =
    {items: [], at: -1, item: null, answer: null, done: [], began: 0, timer: 0, view: "rate", isBusy: false, ahead: []};
  const kept = new Set();  // the items whose rating the server has acknowledged in this tab
  let sending = Promise.resolve();
  const status = h("div", {className: "tools"}), body = h("div", {});

  const current = () => state.items[state.at];
  const left = () =>
    state.items.filter((item) => item.state === "open" || item.state === "skipped" || item.dispute).length;

  async function load() {
    const queue = await api.get("rate");
    state.items = queue.items;
    const waiting = new Set(recall(outboxKey, []).filter((one) => !one.refused).map((one) => one.key));
    for (const item of state.items)
      if (waiting.has(item.key)) item.state = "rated";
    const next = state.items.findIndex((item) => item.dispute || item.state === "open");
    await go(next >= 0 ? next : state.items.findIndex((item) => item.state === "skipped"));
  }

  function drawStatus(why = "") {
    const rated = state.items.filter((item) => item.state === "rated").length, outbox = recall(outboxKey, []);
    const unsent = outbox.filter((one) => !one.refused).length;
    const refused = outbox.filter((one) => one.refused)
                      .map((one) => h("p", {className: "warning", role: "alert"},
                             `A rating was refused: ${one.refused} `, button("Discard it", () => {
                               drop(one);
                               load();
                             })));
    const tab = (name, text) => button(text, () => {
      state.view = name;
      state.agreement = "";
      drawStatus();
      if (name === "rate" && state.hasFailed) go(state.at);
      else drawBody();
    }, {"aria-pressed": String(state.view === name)});
    fill(status, h("progress", {max: Math.max(state.items.length, 1), value: rated, "aria-label": "Progress"}),
      h("span", {}, `${rated} of ${state.items.length} rated by ${about.name}, ${left()} left`),
      unsent ? h("span", {className: "warning", role: "alert"},
                 `${count(unsent, "rating")} kept in this browser, not sent yet. ${why}`) :
               null,
      tab("rate", "Rate"), tab("agreement", "Agreement"), about.is_operator ? tab("files", "Files") : null,
      button("Keys", help, {className: "quiet"}), refused);
  }

  function drawBody() {
    if (state.view === "agreement") drawAgreement();
    else if (state.view === "files") drawFiles();
    else drawItem();
  }

  const failed = (error) => fill(body, h("p", {className: "warning"}, error.message));

  async function go(number) {
    state.at = number;
    state.item = null;
    state.hasFailed = false;
    drawStatus();
    if (number < 0) {
      state.ahead = [];
      return drawBody();
    }
    let item;
    try {
      item = await api.get("rate/item", {key: current().key});
    } catch (error) {
      if (state.at !== number) return;
      state.hasFailed = true;
      state.ahead = [];
      if (state.view === "rate")
        fill(body, h("p", {className: "warning"}, error.message), buttons(button("Try again", () => go(number))));
      return;
    }
    if (state.at !== number) return;  // another one was asked for meanwhile
    const unsent = recall(outboxKey, []).find((one) => one.key === item.key && !one.refused);
    state.item = unsent ? {...item, own: unsent, isUnsent: !item.own} : item;
    const own = state.item.own || {};
    state.answer = recall(draftKey(current().key), null) ||
      {values: valuesOf(own.value), note: own.note || "", notes: own.notes || {}, marks: own.marks || []};
    state.began = performance.now();
    drawBody();
    goOn();
  }

  // What is typed while a rating is sent or an item is loaded is for the item that comes: it waits.
  const isWaiting = () => state.isBusy || (!state.item && state.at >= 0 && !state.hasFailed);
  function typed(work) {
    if (isWaiting()) state.ahead.push(work);
    else if (state.item) work();
    return true;
  }
  function goOn() {
    if (state.view !== "rate") state.ahead = [];
    while (state.ahead.length && !isWaiting()) {
      state.ahead.shift()();
      if (document.querySelector("dialog[open]")) state.ahead = [];  // the keys after it are for the dialog
    }
  }

  // A rating as the page holds it: a value for each question, or the order of a ranking.
  function valuesOf(value) {
    const {scale, questions} = state.item;
    if (value === undefined || value === null) return scale.type === "ranking" ? [] : questions.map(() => null);
    if (scale.type === "ranking") return structuredClone(value);
    if (scale.type === "binary")
      return [scale.options.findIndex((one) => JSON.stringify(one) === JSON.stringify(value)) + 1];
    return Array.isArray(value) ? [...value] : [value];
  }

  function valueOf(values) {
    if (!state.item) return null;
    const {scale, outputs, questions} = state.item;
    if (scale.type === "ranking") return values.flat().length === outputs.length ? values : null;
    if (values.some((value) => value === null)) return null;
    if (scale.type === "binary") return scale.options[values[0] - 1];
    return questions.length > 1 ? values : values[0];
  }

  function drawItem() {
    const item = state.item;
    if (!item && state.at >= 0) return fill(body, h("p", {className: "dim"}, "Loading …"));
    if (!item) {
      fill(body, h("h2", {}, state.items.length ? "Everything is rated. Thank you." : "Nothing waits for a rating."),
        state.items.length ? buttons(button("Undo", undo, {disabled: !state.done.length, "aria-keyshortcuts": "u"}),
                               button("Look through the ratings", () => go(0))) :
                             h("p", {className: "dim"}, "A run puts outputs here when a case has a human grader."));
      return;
    }
    const limit = item.minutes ? ` · ${item.minutes} min at most` : "";
    fill(body,
      h("div", {className: "rubric"},
        h("h2", {}, `${state.at + 1} of ${state.items.length} · ${item.title}`,
          h("small", {}, ` ${item.practice ? "practice · " : ""}${item.grader}${limit}`)),
        item.rubric ? rendered(item.rubric) : null),
      h("div", {className: "rate"}, item.input ? part("input", "Input", item.input) : null,
        item.outputs.map((output, n) => part(output.name, item.outputs.length > 1 ? `${letter(n)}` : "Output", output)),
        item.expected ? part("expected", "Reference", item.expected) : null),
      item.about.length ? h("dl", {}, item.about.map(([name, text]) => [h("dt", {}, name), h("dd", {}, text)])) : null,
      marks(),
      h("form", {
        className: "answer",
        onsubmit: (event) => {
          event.preventDefault();
          save();
        }
      },
        questions(), note(), actions()),
      others());
    announce(`Item ${state.at + 1} of ${state.items.length}`);
  }

  const letter = (n) => (state.item.outputs.length === 2 ? "AB"[n] : `Output ${n + 1}`);

  function rendered(data) {
    return data.nodes ? h("div", {className: "rendered"}, nodes(data.nodes)) :
                        h("div", {className: "rendered"}, h("p", {}, data.raw));
  }

  function nodes(list) {
    return list.map((node) => {
      if (typeof node === "string") return node;
      const [tag, ...children] = node;
      if (tag === "a")
        return h("span", {title: children[0]}, nodes(children.slice(1)), h("small", {}, ` (${children[0]})`));
      return h(/^h[1-6]$/.test(tag) ? "h3" : tag, tag === "pre" ? {tabIndex: 0} : {}, nodes(children));
    });
  }

  // A text, as it is meant or raw. Words are marked in the raw text.
  function part(name, title, data) {
    const hasMarks = state.answer.marks.some((mark) => mark.part === name);
    let isRaw = !data.nodes || hasMarks;
    const box = h("section", {className: "part", "aria-label": title});
    const draw = () => {
      const switches = data.nodes ? button(isRaw ? "Rendered" : "Raw", () => {
        isRaw = !isRaw;
        draw();
      }, {"aria-label": `${isRaw ? "Rendered" : "Raw"} ${title}`}) : null;
      const content = isRaw ?
        h("pre", {"data-part": name, tabIndex: 0, "aria-label": title}, withMarks(name, data.raw)) :
        rendered(data);
      fill(box, h("h2", {}, title, switches), content);
    };
    draw();
    return box;
  }

  function withMarks(name, raw) {
    const points = [...raw],
          own = state.answer.marks.filter((mark) => mark.part === name).sort((a, b) => a.start - b.start);
    const parts = [];
    let at = 0;
    for (const mark of own) {
      if (mark.start < at) continue;
      parts.push(points.slice(at, mark.start).join(""),
        h("mark", {title: mark.note}, points.slice(mark.start, mark.end).join("")));
      at = mark.end;
    }
    return [...parts, points.slice(at).join("")];
  }

  function selected() {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return null;
    const range = selection.getRangeAt(0), start = range.startContainer.parentElement.closest("[data-part]");
    if (!start || !start.contains(range.endContainer)) return null;
    const before = document.createRange();
    before.setStart(start, 0);
    before.setEnd(range.startContainer, range.startOffset);
    const begin = [...before.toString()].length, text = range.toString();
    return {part: start.dataset.part, start: begin, end: begin + [...text].length, text};
  }

  async function addMark() {
    const found = selected();
    const raws = [
      ["input", state.item.input], ...state.item.outputs.map((one) => [one.name, one]),
      ["expected", state.item.expected]
    ].filter(([, data]) => data);
    const mark = await dialog("Mark words", (close) => {
      const text =
        h("input", {type: "text", id: "mark-text", value: found ? found.text : "", readOnly: Boolean(found)});
      const where = h("select", {id: "mark-part"},
        raws.map(([name]) => h("option", {value: name, selected: name === "output"}, name)));
      const words = h("input", {type: "text", id: "mark-note"}),
            problem = h("p", {className: "warning", role: "alert"});
      const go = () => {
        if (found) return close({...found, note: words.value});
        const raw = raws.find(([name]) => name === where.value)[1].raw, at = text.value ? raw.indexOf(text.value) : -1;
        if (at < 0) {
          problem.textContent = "These words are not in the text.";
          return;
        }
        const start = [...raw.slice(0, at)].length;
        close({part: where.value, start, end: start + [...text.value].length, text: text.value, note: words.value});
      };
      return [
        h("label", {htmlFor: "mark-text"}, "The words"), text,
        found ? null : [h("label", {htmlFor: "mark-part"}, "in the"), where],
        h("label", {htmlFor: "mark-note"}, "What about them"), words, problem,
        buttons(button("Mark", go, {className: "main"}), button("Cancel", () => close(null)))
      ];
    });
    if (!mark) return;
    state.answer.marks.push(mark);
    keep();
    drawItem();
  }

  function marks() {
    if (!state.answer.marks.length) return null;
    return h("ul", {"aria-label": "Marks"},
      state.answer.marks.map(
        (mark, n) => h("li", {}, h("mark", {}, mark.text), ` ${mark.note} `, button("Remove", () => {
          state.answer.marks.splice(n, 1);
          keep();
          drawItem();
        }, {"aria-label": `Remove the mark of ${mark.text}`}))));
  }

  function questions() {
    const {scale} = state.item;
    if (scale.type === "ranking") return state.item.outputs.length === 2 ? pairwise() : ranking();
    return state.item.questions.map((question, n) => question_(question, n));
  }

  function question_(question, n) {
    const {scale, choices} = state.item, values = state.answer.values, name = question || "Your rating";
    const set = (value) => {
      values[n] = value;
      keep();
      drawAnswer(n);
    };
    const isWide = scale.type === "likert" && (scale.range[1] > 9 || scale.range[0] < 0);
    const field = isWide ?
      h("input", {
        type: "number",
        min: scale.range[0],
        max: scale.range[1],
        value: values[n] === null ? "" : values[n],
        "aria-label": name,
        oninput: (event) => {
          values[n] = event.target.value === "" ? null : Number(event.target.value);
          keep();
          body.querySelector(".answer button.main").disabled = valueOf(values) === null;
        }
      }) :
      h("div", {className: "choices", role: "group", "aria-label": name},
        choices.map(([key, words]) => button([key, words && h("small", {}, words)].filter(Boolean),
                      () => set(Number(key)), {"aria-pressed": String(values[n] === Number(key))})));
    const notes = state.item.questions.length > 1 ? h("input", {
      type: "text",
      placeholder: "Note on this criterion",
      "aria-label": `Note on ${name}`,
      value: state.answer.notes[question] || "",
      oninput: (event) => {
        state.answer.notes[question] = event.target.value;
        keep();
      }
    }) :
                                                    null;
    return h("div", {className: "question"}, h("h3", {}, name), field, notes);
  }

  function pairwise() {
    const same = (value) => JSON.stringify(state.answer.values) === JSON.stringify(value);
    const offer = (text, value) => button(text, () => {
      state.answer.values = value;
      keep();
      drawAnswer(0);
    }, {"aria-pressed": String(same(value))});
    return h("div", {className: "question"}, h("h3", {}, "Which one is better?"),
      h("div", {className: "choices", role: "group", "aria-label": "Which one is better?"},
        offer("1 A is better", [1, 2]), offer("2 B is better", [2, 1]),
        state.item.scale.tie ? offer("= They are equal", [[1, 2]]) : null));
  }

  function ranking() {
    const ranked = state.answer.values.flat();
    const text = state.answer.values.map((place) => (Array.isArray(place) ? place.join(" = ") : place)).join(" > ");
    return h("div", {className: "question"}, h("h3", {}, "The best first"),
      h("p", {role: "status"}, text || "Choose the best one, then the next one."),
      h("div", {className: "choices"},
        state.item.outputs.map((_, n) => button(`${n + 1}`, () => rank(n + 1),
                                 {disabled: ranked.includes(n + 1), "aria-label": `Output ${n + 1} is next`})),
        button("Start again", () => {
          state.answer.values = [];
          keep();
          drawAnswer(0);
        })));
  }

  function rank(number, isTied = false) {
    if (!state.item) return;
    const values = state.answer.values;
    if (values.flat().includes(number) || number > state.item.outputs.length) return;
    if (isTied && values.length) values[values.length - 1] = [values[values.length - 1], number].flat();
    else values.push(number);
    keep();
    drawAnswer(0);
  }

  function note() {
    return h("p", {}, h("label", {htmlFor: "note"}, "Note "), h("input", {
      type: "text",
      id: "note",
      value: state.answer.note,
      oninput: (event) => {
        state.answer.note = event.target.value;
        keep();
      }
    }));
  }

  function actions() {
    const isReady = valueOf(state.answer.values) !== null;
    return buttons(h("button", {className: "main", disabled: !isReady, "aria-keyshortcuts": "Enter"},
                     state.item.own ? "Change the rating" : "Save"),
      button("Skip …", skip, {"aria-keyshortcuts": "s"}), button("Mark words …", addMark, {"aria-keyshortcuts": "m"}),
      button("Undo", undo, {disabled: !state.done.length, "aria-keyshortcuts": "u"}),
      about.is_operator && state.item.own ?
        button(state.item.is_gold ? "Gold: make it an ordinary item" : "Use as a gold item …", makeGold,
          {className: "quiet"}) :
        null);
  }

  function drawAnswer(n) {
    const form = body.querySelector("form.answer");
    if (!state.item || !form) return;
    const label =
      document.activeElement && form.contains(document.activeElement) ? document.activeElement.textContent : null;
    fill(form, questions(), note(), actions());
    const groups = form.querySelectorAll(".question");
    const same =
      label === null ? null : [...groups[n].querySelectorAll("button")].find((one) => one.textContent === label);
    if (same && !same.disabled) same.focus();
  }

  function others() {
    const item = state.item;
    if (!item.own && !item.others.length) return null;
    const gold = item.gold ? h("p", {className: item.gold.right ? "state" : "warning"},
                               `${item.gold.right ? "Right" : "Not quite"}: ${item.gold.words}. ${item.gold.why}`) :
                             null;
    return [
      gold, h("h3", {}, "Rated so far", h("small", {}, ` ${item.verdict || ""}`)),
      h("ul", {}, item.others.map((one) => h("li", {}, `${one.rater || "somebody"}: ${one.words} ${one.note}`)),
        item.others.length ? null : h("li", {className: "dim"}, "only by you"))
    ];
  }

  function keep() {
    if (state.item) remember(draftKey(state.item.key), state.answer);
  }

  // Saving: into the box of this browser first, from there to the server, until it is acknowledged.

  async function save() {
    const item = state.item, value = item && valueOf(state.answer.values), row = current();
    if (value === null || !item || state.isBusy) return;
    const seconds = Math.round(performance.now() - state.began) / 1000;
    const notes = Object.fromEntries(Object.entries(state.answer.notes).filter(([, text]) => text));
    const answer = structuredClone(state.answer), {note, marks} = answer;
    const again = Boolean(item.own) && !item.isUnsent;
    const payload = {key: item.key, value: structuredClone(value), note, notes, marks, seconds, again};
    remember(outboxKey, [...recall(outboxKey, []).filter((one) => one.key !== item.key), payload]);
    state.isBusy = body.querySelector("form.answer").inert = true;
    const answered = await send(payload).finally(() => { state.isBusy = false; });
    if (answered.refused) {
      state.ahead = [];
      await show("Not kept", answered.refused);
      return load().catch(failed);  // somebody else may have completed it
    }
    state.done.push({row: {...row}, own: item.isUnsent ? null : item.own, answer});
    row.state = "rated";
    row.dispute = false;
    remember(draftKey(item.key), null);
    announce("Kept.");
    const gold = answered.item && answered.item.gold;
    if (gold) await show(gold.right ? "Right" : "Not quite", `${gold.words}. ${gold.why}`);
    next();
  }

  // Send what waits, the oldest first. `own`: the one that was just entered, whose refusal is shown at once.
  function send(own = null) {
    clearTimeout(state.timer);
    const now = sending.then(() => sendAll(own));
    sending = now.catch(() => {});
    return now;
  }

  async function sendAll(own) {
    const answered = {};
    for (const payload of recall(outboxKey, []).filter((one) => !one.refused)) {
      try {
        const item = await api.post("rate/rating", {...payload, again: payload.again || kept.has(payload.key)});
        kept.add(payload.key);
        drop(payload);
        if (own && payload.key === own.key) answered.item = item;
        else if (state.item && state.item.key === payload.key) {
          state.item = item;  // it is kept now, and a later one replaces it
          if (state.view === "rate") drawItem();
        }
      } catch (error) {
        if (error.status !== 422) {
          later();
          drawStatus([401, 403].includes(error.status) ? error.message : "");
          return answered;
        }
        drop(payload);
        if (own && payload.key === own.key) answered.refused = error.message;
        else remember(outboxKey, [...recall(outboxKey, []), {...payload, refused: error.message}]);
      }
    }
    drawStatus();
    api.changed();
    if (state.hasFailed && !own) go(state.at);
    return answered;
  }

  // Take a rating out of the box, but not another one of the same item that was entered meanwhile.
  function drop(payload) {
    const text = JSON.stringify(payload);
    remember(outboxKey, recall(outboxKey, []).filter((one) => JSON.stringify(one) !== text));
  }

  function later() {
    clearTimeout(state.timer);
    state.timer = setTimeout(() => send(), 3000);
  }

  function next() {
    const order = [...state.items.keys()], after = [...order.slice(state.at + 1), ...order.slice(0, state.at + 1)];
    const of = (...states) => after.find((n) => states.includes(state.items[n].state) || state.items[n].dispute);
    const found = of("open");
    const last = found === undefined ? of("skipped") : found;
    return go(last === undefined ? -1 : last);
  }

  async function skip() {
    const reason = await dialog("Why can it not be rated?", (close) => {
      const text = h("input", {type: "text", id: "reason", "aria-label": "Reason"});
      const go_ = () => text.value.trim() && close(text.value.trim());
      return [text, buttons(button("Skip it", go_, {className: "main"}), button("Cancel", () => close(null)))];
    });
    if (!reason) return;
    const row = current(), answer = structuredClone(state.answer);
    state.isBusy = true;
    try {
      await api.post("rate/skip", {key: row.key, reason});
    } catch (error) { return show("Not skipped", error.message); } finally {
      state.isBusy = false;
    }
    state.done.push({row: {...row}, isSkip: true, answer});
    if (row.state !== "rated") row.state = "skipped";
    next();
  }

  async function undo() {
    if (!state.done.length || state.isBusy) return;
    const step = state.done.pop(), {key} = step.row;
    state.isBusy = true;
    state.ahead = [];
    clearTimeout(state.timer);
    try {
      await sending;  // one that is on its way arrives first
      if (step.own) await api.post("rate/rating", {key, ...step.own, again: true});
      else await api.post("rate/undo", {key, skip: Boolean(step.isSkip)});
      if (!step.own && !step.isSkip) kept.delete(key);
    } catch (error) {
      state.done.push(step);
      later();
      return show("Not undone", error.message);
    } finally { state.isBusy = false; }
    if (!step.isSkip)  // what was not sent yet is not sent any more
      remember(outboxKey, recall(outboxKey, []).filter((one) => one.key !== key));
    if (recall(outboxKey, []).length) later();
    const at = state.items.findIndex((one) => one.key === key);  // a list that was loaded again has another order
    if (at >= 0) state.items[at] = step.row;
    remember(draftKey(key), step.own ? null : step.answer);
    announce("Undone.");
    go(at);
  }

  async function makeGold() {
    const isGold = state.item.is_gold, {value} = state.item.own;
    if (!isGold && JSON.stringify(valueOf(state.answer.values)) !== JSON.stringify(value))
      return show("Not yet", "Save what you have chosen first: the right rating is the one that is kept.");
    const given = isGold ? {} : await dialog("A gold item", (close) => {
      const why = h("input", {type: "text", id: "why"}), practice = h("input", {type: "checkbox"});
      return [
        h("p", {}, "Your rating becomes the right one: it shows how well others rate."),
        h("label", {htmlFor: "why"}, "Why it is right"), why,
        h("label", {}, practice, " for practice: it comes first, and the right rating is shown afterwards"),
        buttons(button("Use it", () => close({why: why.value, practice: practice.checked}), {className: "main"}),
          button("Cancel", () => close(null)))
      ];
    });
    if (!given) return;
    try {
      await api.post("rate/gold", {key: current().key, value: isGold ? null : value, ...given});
      announce(isGold ? "It is an ordinary item now." : "It is a gold item now.");
      go(state.at);
    } catch (error) { await show("Not kept", error.message); }
  }

  // What was rated.

  async function drawAgreement() {
    clearTimeout(state.polling);
    state.polling = setTimeout(() => {
      if (state.view === "agreement") drawAgreement();
    }, 5000);
    if (root.hidden) return;
    let found;
    try {
      found = await api.get("rate/agreement");
    } catch (error) {
      if (state.view === "agreement") failed(error);
      return;
    }
    if (state.view !== "agreement") return;
    const text = JSON.stringify(found);
    if (state.agreement === text && body.querySelector("ul, table")) return;
    state.agreement = text;
    const raters = found.raters.map((one) => [one.rater, one.rated, one.skipped, percent(one.agreement),
                                      one.gold && about.is_operator ? `${one.right} of ${one.gold}` : "",
                                      one.seconds === null ? "" : `${one.seconds.toFixed(1)} s`]);
    const criteria = found.criteria.map((one) => [one.grader, one.criterion, one.items, percent(one.agreement),
                                          one.alpha === null ? "" : one.alpha.toFixed(3)]);
    fill(body,
      h("p", {className: "dim"},
        `Of ${count(found.items, "item")}${
          about.is_operator ?
            "" :
            " that you have rated"}. Agreement is 100 % where all give the same value. Alpha (Krippendorff) is 1 where they agree, 0 where they agree as often as by chance.`),
      h("h2", {}, "By criterion"),
      criteria.length ? table(["grader", "criterion", "items", "agreement", "alpha"], criteria) :
                        h("p", {className: "dim"}, "No item has two ratings yet."),
      h("h2", {}, "By rater"),
      table(["rater", "rated", "skipped", "agreement with others", "gold right", "median time"], raters),
      h("h2", {}, "Where raters differ"),
      found.disagreements.length ?
        h("ul", {},
          found.disagreements.map(
            (one) => h("li", {},
              button(one.case,
                () => {
                  const n = state.items.findIndex((item) => item.key === one.key);
                  if (n < 0) return show(one.case, "It is not in your queue.");
                  state.view = "rate";
                  go(n);
                }),
              ` ${one.grader} · ${percent(one.agreement)} · `,
              one.ratings
                  .map((rating) =>
                         `${rating.rater || "somebody"}: ${rating.words}${rating.note ? ` (${rating.note})` : ""}`)
                  .join("; ") ||
                "hidden until you have rated it",
              one.settled ? " · settled" : ""))) :
        h("p", {className: "dim"}, "Nowhere so far."));
  }

  function drawFiles() {
    const file = h("input", {type: "file", accept: ".csv,.json,.yaml,.yml", id: "file"}),
          result = h("p", {role: "status"});
    file.addEventListener("change", async () => {
      if (!file.files.length) return;
      try {
        const taken = await api.post("rate/import", {name: file.files[0].name, text: await file.files[0].text()});
        await load();
        body.querySelector("[role=status]").textContent =
          `${count(taken.ratings, "new rating")}, ${taken.known} known already, ${count(taken.items, "new item")}.`;
      } catch (error) { result.textContent = error.message; }
    });
    const saving = (name, text) => button(text, async () => {
      try {
        download(name, await api.get(`rate/${name}`), "text/plain");
      } catch (error) { result.textContent = error.message; }
    });
    fill(body, h("h2", {}, "Files"),
      buttons(
        saving("ratings.csv", "All ratings as CSV"), saving("labels.yaml", "What is settled, as labels for calibrate")),
      h("label", {htmlFor: "file"}, "Import ratings (CSV, YAML, JSON) "), file, result);
  }

  function help() {
    return dialog("Keys",
      (close) => [h("dl", {}, KEYS.map(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)])),
        buttons(button("Close", () => close(null)))]);
  }

  function digit(number, isTied) {
    const {scale} = state.item, values = state.answer.values;
    if (scale.type === "ranking") {
      if (state.item.outputs.length > 2) return rank(number, isTied);
      if (number > 2) return undefined;
      state.answer.values = number === 1 ? [1, 2] : [2, 1];
      keep();
      return drawAnswer(0);
    }
    const wide = body.querySelector(".question input[type=number]");
    if (wide) return wide.focus();  // the digit is typed into it
    if (!state.item.choices.some(([key]) => Number(key) === number)) return undefined;
    const open = values.indexOf(null), n = open < 0 ? values.length - 1 : open;
    values[n] = number;
    keep();
    return drawAnswer(n);
  }

  let tied = false;
  const isRating = () => state.view === "rate" && (state.item || isWaiting());
  const onlyRating = (work) => () => (isRating() ? typed(work) : false);
  const keys = {
    s: onlyRating(skip),
    u: () => {
      if (state.view !== "rate") return false;
      return isWaiting() ? state.ahead.push(undo) : undo();
    },
    m: onlyRating(addMark),
    n: onlyRating(() => body.querySelector("#note").focus()),
    "?": help,
    "=": onlyRating(() => {
      if (state.item.outputs.length === 2 && state.item.scale.tie) {
        state.answer.values = [[1, 2]];
        keep();
        drawAnswer(0);
      } else tied = state.item.scale.tie;
    }),
    Enter: (event) => {
      const isChosen = event.target.closest(".choices [aria-pressed=true]");
      if (!isChosen && event.target.closest("button, a, summary, input")) return false;
      return onlyRating(save)();
    },
    ArrowRight: onlyRating(() => go(Math.min(state.items.length - 1, state.at + 1))),
    ArrowLeft: () => {
      if (state.view !== "rate" || !state.items.length) return false;
      return state.at < 0 ? go(state.items.length - 1) : typed(() => go(Math.max(0, state.at - 1)));
    }
  };
  for (let n = 0; n <= 9; n += 1)
    keys[String(n)] = () => {
      const isTaken = onlyRating(() => {
        digit(n, tied);
        tied = false;
      })();
      return isTaken && !body.querySelector(".question input[type=number]:focus");
    };
  onKeys(root, keys);
  window.addEventListener("online", () => { send(); });
  fill(root, h("h1", {}, "Rate"), status, body);
  load()
    .then(() => {
      if (recall(outboxKey, []).length) send();
    })
    .catch(failed);
}
