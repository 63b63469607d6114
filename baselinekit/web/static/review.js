// Changes that wait for a decision. Decisions are collected here and written once, at the end.
import {announce, button, buttons, confirmInWords, copyText, count, dialog, diffLines, download, fill, h, markedText, onKeys, put, recall, remember, show} from "./dom.js";

const DONE = {
  accept: "accepted",
  reject: "rejected",
  placeholder: "placeholder",
  ignore: "ignored"
};
const KINDS = {
  value: "another value",
  retyped: "another type",
  order: "another order",
  added: "added",
  removed: "removed"
};
const RISKS = ["high", "medium", "low"];
const KEYS = [
  ["j k", "next and previous change"],
  ["Enter", "open or close it"],
  ["a", "accept"],
  ["r", "reject"],
  ["p", "put a placeholder there"],
  ["g", "ignore the path from now on"],
  ["u", "undo"],
  ["/", "search"],
  ["A", "accept all that need no decision of their own"],
  ["w", "write the files"],
  ["?", "this list"],
];

export function reviewPage(root, desk) {
  const state =
    {cards: [], decided: new Map(), steps: [], at: 0, open: new Set(), risk: new Set(RISKS), left: false, words: ""};
  const list = h("ol", {className: "cards"});
  const bar = h("div", {className: "bar"});
  const tools = h("div", {className: "tools", role: "search"});
  const notes = h("div", {});
  let document_ = null;

  const undecided = (card) => card.members.filter((member) => !state.decided.has(member.seen));
  const shown = () =>
    state.cards.filter((card) => state.risk.has(card.risk) && (!state.left || undecided(card).length) &&
        state.words.toLowerCase().split(/\s+/).every((word) => card.text.includes(word)));

  async function load() {
    document_ = await desk.load();
    const kept = new Map([...state.decided]);
    state.cards = document_.cards;
    state.cards.forEach((card, number) => {
      card.number = number;
      card.text = JSON.stringify([card.path, card.kind, card.members, card.target, card.sides]).toLowerCase();
    });
    const seen = new Set(state.cards.flatMap((card) => card.members.map((member) => member.seen)));
    state.decided = new Map([...kept].filter(([key]) => seen.has(key)));
    for (const [key, {coveredBy}] of state.decided)  // a rule that is gone covers nothing
      if (coveredBy && !coveredBy.some((one) => state.decided.has(one))) state.decided.delete(key);
    state.steps = [];
    state.at = 0;
    state.open = new Set(state.cards.slice(0, 1));
    draw();
  }

  // Drawing. A card is drawn anew when something about it changes, and keeps the focus.

  function draw() {
    drawNotes();
    drawTools();
    drawList();
    drawBar();
  }

  function drawNotes() {
    const sources =
      document_.sources.map((one) => h("p", {}, "Answers of ", h("code", {}, one.file), ` of ${one.started}`,
                              one.commit && [", commit ", h("code", {}, one.commit.slice(0, 12))],
                              one.target && [", target ", h("code", {}, one.target)]));
    const refused = document_.refused.map(
      (one) => h("p", {className: "warning"}, `${one.id}: ${one.code} ${one.what}`, one.fix && `: ${one.fix}`));
    const more = document_.more ?
      h("p", {className: "warning"}, `${count(document_.more, "more change")} not on this page: decide these first`) :
      null;
    fill(notes, sources, refused, more);
  }

  function drawTools() {
    const counts = (risk) => state.cards.flatMap((card) => card.members).filter((one) => one.risk === risk).length;
    const risks = RISKS.map((risk) => h("label", {className: `risk ${risk}`}, h("input", {
      type: "checkbox",
      checked: state.risk.has(risk),
      onchange: (event) => {
        if (event.target.checked) state.risk.add(risk);
        else state.risk.delete(risk);
        drawList();
      }
    }),
                              ` ${counts(risk)} ${risk}`));
    const search = h("input", {
      type: "search",
      id: "search",
      placeholder: "Search: id, path, value",
      "aria-label": "Search the changes",
      value: state.words,
      oninput: (event) => {
        state.words = event.target.value;
        drawList();
      }
    });
    const left = h("label", {}, h("input", {
      type: "checkbox",
      checked: state.left,
      onchange: (event) => {
        state.left = event.target.checked;
        drawList();
      }
    }),
      " only undecided");
    fill(tools, search, h("fieldset", {}, h("legend", {}, "Risk"), risks), left,
      button("Keys", help, {className: "quiet"}));
  }

  function drawList() {
    const cards = shown();
    fill(list, cards.map(drawCard));
    if (!cards.length)
      put(
        list, h("li", {className: "empty"}, state.cards.length ? "Nothing fits the filters." : "Nothing is pending."));
  }

  function drawCard(card) {
    const isOpen = state.open.has(card), left = undecided(card).length;
    const ids = [...new Set(card.members.map((member) => member.id))];
    const where = ids.length > 1 ? `in ${ids.length} baselines` : ids[0];
    const places = card.members.length > ids.length ? `, ${card.members.length} places` : "";
    const stateText = left === card.members.length ? "" :
      left                                         ? `${card.members.length - left} of ${card.members.length} decided` :
                                                     verbOf(card);
    const head = h("button", {
      type: "button",
      className: "card-head",
      "aria-expanded": String(isOpen),
      onclick: () => {
        state.at = card.number;
        toggle(card);
      }
    },
      h("code", {}, card.path || "$"), h("span", {}, `${KINDS[card.kind]} · ${where}${places}`),
      isOpen ? null : h("span", {className: "dim"}, inBrief(card)),
      h("span", {className: `risk ${card.risk}`}, `${card.risk} risk`),
      lost(card).length ? h("span", {className: "risk high"}, "loses a placeholder") : null,
      stateText && h("span", {className: "state"}, stateText));
    card.element =
      h("li", {className: left ? "card" : "card decided"}, h("h2", {}, head), isOpen ? cardBody(card) : null);
    return card.element;
  }

  // What tells a closed card from the next one: both values, where they are short.
  function inBrief(card) {
    const texts = (card.sides || []).map((side) => side && (side.parts || []).map(([, text]) => text).join(""));
    if (texts.length !== 2 || texts.some((text) => !text || text.length > 40 || text.includes("\n"))) return "";
    const [was, now] = card.sides.map((side) => side.type);
    return was === now ? texts.join(" → ") : `${texts[0]} (${was}) → ${texts[1]} (${now})`;
  }

  function verbOf(card) {
    const verbs = [...new Set(card.members.map((member) => state.decided.get(member.seen))
        .filter(Boolean)
        .map((one) => DONE[one.decision] + (one.value ? ` ${one.value}` : "")))];
    return verbs.join(", ");
  }

  const lost = (card) => card.members.flatMap((member) => member.loses);

  function cardBody(card) {
    const [before, after] = card.sides;
    const figure = (title, side, tag) =>
      h("figure", {}, h("figcaption", {}, title, side && card.kind === "retyped" ? ` (${side.type})` : ""),
        side ? markedText(side.parts, tag) : h("p", {className: "dim"}, "not there"));
    const file =
      h("figure", {}, h("figcaption", {}, "The file after accepting"), h("div", {}, h("p", {className: "dim"}, "…")));
    drawDiff(card, file.lastChild);
    const others = card.different > 1 ?
      h("p", {className: "warning"},
        `${card.different} different values: the first one is shown, all are listed below`) :
      null;
    const losses = lost(card).slice(0, 10).map(
      ([text, path]) => h("p", {className: "warning"}, "loses ", h("code", {}, text), " at ", h("code", {}, path)));
    const blocked = card.members.find((member) => member.blocked);
    return h("div", {className: "card-body"}, h("p", {className: "dim"}, h("code", {}, card.place), " · ", card.target),
      h("div", {className: "sides"}, figure("Stored", before, "del"), figure("New", after, "ins"), file), others,
      card.images.length ? pictures(card.images) : null, losses,
      blocked ? h("p", {className: "warning"}, "cannot be accepted: ", blocked.blocked) : null,
      card.notes.map((note) => h("p", {className: "warning"}, note)),
      card.members.map((member) => member.note)
        .filter((note, n, all) => note && all.indexOf(note) === n)
        .map((note) => h("p", {className: "dim"}, note)),
      card.drift.length ?
        h("p", {className: "dim"},
          "Changed since the capture: ", card.drift.map(([name, was, now]) => `${name} ${was} → ${now}`).join(", ")) :
        null,
      buttons(
        button("Accept", () => accept(card), {disabled: Boolean(blocked), className: "main", "aria-keyshortcuts": "a"}),
        button("Reject", () => decide(undecided(card), {decision: "reject"}), {"aria-keyshortcuts": "r"}),
        button("Placeholder …", () => placeholder(card), {"aria-keyshortcuts": "p"}),
        button("Ignore …", () => ignore(card), {"aria-keyshortcuts": "g"}),
        button("Undecide", () => undecide(card),
          {disabled: undecided(card).length === card.members.length, className: "quiet"})),
      card.members.length > 1 ? members(card) : null,
      h("details", {}, h("summary", {}, "Recipe, capture, environment"),
        h("dl", {}, card.facts.map(([name, text]) => [h("dt", {}, name), h("dd", {}, text)]))));
  }

  async function drawDiff(card, element) {
    const entries = card.members.map(
      (member) => sent(state.decided.get(member.seen) || entry(member, {decision: "accept", confirm: true})));
    try {
      const {lines, problems} = await desk.diff(card, entries);
      fill(element, lines.length ? diffLines(lines) : h("p", {className: "dim"}, "no file changes"),
        problems.map((text) => h("p", {className: "warning"}, text)));
    } catch (error) { fill(element, h("p", {className: "warning"}, error.message)); }
  }

  function members(card) {
    const toggled = (event) => { card.isListed = event.target.open; };
    const isListed = card.isListed === undefined ? card.different > 1 : card.isListed;
    return h("details", {className: "members", open: isListed, ontoggle: toggled},
      h("summary", {}, `${card.members.length} places, one by one`), h("ul", {}, card.members.map((member) => {
        const decision = state.decided.get(member.seen);
        return h("li", {}, h("code", {}, member.id), " ", h("code", {}, member.path), " ", h("del", {}, member.before),
          " ", h("ins", {}, member.after), " ", decision ? h("span", {className: "state"}, DONE[decision.decision]) : [
            button("Accept", () => accept(card, [member]),
              {disabled: Boolean(member.blocked), "aria-label": `Accept ${member.id} ${member.path}`}),
            button("Reject", () => decide([member], {decision: "reject"}),
              {"aria-label": `Reject ${member.id} ${member.path}`})
          ]);
      })));
  }

  function pictures(images) {
    const [before, after] = images;
    if (!before.data || !after.data) {
      return h("p", {className: "dim"},
        images
          .map(
            (one, n) => `${n ? "new" : "stored"}: ${one.size.toLocaleString("en")} bytes, ${one.sha256.slice(0, 12)}`)
          .join(" · "),
        ". A picture is shown where this machine has received both.");
    }
    const stack = h("div", {className: "stack"}, h("img", {src: before.data, alt: "stored picture"}),
      h("img", {src: after.data, alt: "new picture"}));
    const top = stack.lastChild;
    const slider = h("input", {
      type: "range",
      min: 0,
      max: 100,
      value: 50,
      "aria-label": "How much of the new picture is seen",
      oninput: () => { top.style.opacity = slider.value / 100; }
    });
    const mode = (name) => {
      stack.className = `stack ${name}`;
      slider.hidden = name !== "onion";
      top.style.opacity = name === "onion" ? slider.value / 100 : 1;
    };
    mode("beside");
    return h("div", {className: "pictures"},
      buttons(button("Side by side", () => mode("beside")), button("Onion", () => mode("onion")),
        button("Difference", () => mode("difference"))),
      slider, stack);
  }

  function drawBar() {
    const total = state.cards.reduce((sum, card) => sum + card.members.length, 0);
    fill(bar, h("span", {}, `${state.decided.size} of ${total} decided`),
      button("Accept all safe ones …", acceptAll, {"aria-keyshortcuts": "A"}),
      button("Undo", undo, {disabled: !state.steps.length, "aria-keyshortcuts": "u"}),
      button(desk.isStatic ? "Export decisions …" : "Write the files …", write,
        {className: "main", disabled: !state.decided.size, "aria-keyshortcuts": "w"}));
  }

  function redraw(card) {
    const old = card.element, nameOf = (one) => one.getAttribute("aria-label") || one.textContent;
    const name = document.activeElement && old.contains(document.activeElement) ? nameOf(document.activeElement) : null;
    if (!old.isConnected) return;
    old.replaceWith(drawCard(card));
    if (name === null) return;
    const same = [...card.element.querySelectorAll("button")].find((one) => nameOf(one) === name && !one.disabled);
    (same || card.element.querySelector("button")).focus();
  }

  // Deciding.

  function entry(member, decision) { return {id: member.id, seen: member.seen, ...decision}; }

  // `covered`: what a rule settles besides; it is decided by the rule, and is not sent.
  const sent = ({coveredBy, ...rest}) => rest;
  function decide(chosen, decision, covered = []) {
    if (!chosen.length) return;
    state.steps.push(new Map(state.decided));
    const coveredBy = chosen.map((member) => member.seen);
    for (const member of covered) state.decided.set(member.seen, {...entry(member, decision), coveredBy});
    for (const member of chosen) state.decided.set(member.seen, entry(member, decision));
    after([...chosen, ...covered]);
    announce(`${count(chosen.length + covered.length, "change")} ${DONE[decision.decision]}`);
  }

  // The decisions as they are sent: those that are alike as one.
  function decisions() {
    const alike = new Map();
    for (const {id, seen, coveredBy, ...decision} of state.decided.values()) {
      const key = JSON.stringify(decision);
      if (!coveredBy) alike.set(key, [...(alike.get(key) || []), seen]);
    }
    return [...alike].map(([key, seen]) => ({id: "*", seen, ...JSON.parse(key)}));
  }

  function after(chosen) {
    const touched = new Set(chosen.map((member) => member.seen));
    const cards = state.cards.filter((card) => card.members.some((member) => touched.has(member.seen)));
    cards.forEach(redraw);
    drawBar();
    const card = state.cards[state.at];
    if (card && cards.includes(card) && !undecided(card).length) move(1, true);
  }

  async function confirmed(chosen, what = "") {
    const questions = [...new Set(chosen.map((member) => member.confirm).filter(Boolean))];
    if (!questions.length) return {};
    const many = chosen.length > 1 ? `${chosen.length} changes, each: ` : "";
    const isSure = await confirmInWords(`${what}${many}${questions.join(" ")}`, "accept");
    return isSure ? {confirm: true} : null;
  }

  async function accept(card, chosen = undecided(card)) {
    if (!chosen.length || chosen.some((member) => member.blocked)) return;
    const confirm = await confirmed(chosen);
    if (confirm) decide(chosen, {decision: "accept", ...confirm});
  }

  // The dialog stays open until what was chosen fits.
  function choose(title, offers, none, check) {
    return dialog(title, (close) => {
      if (none) return [h("p", {}, none), buttons(button("Close", () => close(null)))];
      const typed =
        h("input", {type: "text", id: "typed", value: offers.length ? offers[0][0] : "", spellcheck: false});
      const pick = offers.map(
        ([text, reason], number) => h("label", {className: "offer"},
          h("input", {type: "radio", name: "offer", checked: number === 0, onchange: () => { typed.value = text; }}),
          " ", h("code", {}, text), " ", h("span", {className: "dim"}, reason)));
      const problem = h("p", {className: "warning", role: "alert"});
      const take = async () => {
        const value = typed.value;
        if (!value) return;
        try {
          close({value, covered: await check(value)});
        } catch (error) { problem.textContent = error.message; }
      };
      return [
        pick, h("label", {htmlFor: "typed"}, "or type one"), typed, problem,
        buttons(button("Take it", take, {className: "main"}), button("Cancel", () => close(null)))
      ];
    });
  }

  async function instead(card, verb, title, offers, none) {
    const chosen = undecided(card);
    if (!chosen.length) return;
    const check = async (value) => {
      const entries = chosen.map((member) => entry(member, {decision: verb, value, confirm: true}));
      const seen = new Set(await desk.check(entries, offers)), own = new Set(chosen);
      const covered = state.cards.flatMap((one) => one.members).filter((one) => seen.has(one.seen) && !own.has(one));
      const rejected = covered.filter((one) => (state.decided.get(one.seen) || {}).decision === "reject").length;
      if (rejected) throw new Error(`it also covers ${count(rejected, "change")} that you have rejected`);
      return covered;
    };
    const taken = await choose(title, offers, none, check);
    if (!taken) return;
    const {covered} = taken;
    const confirm = await confirmed(verb === "placeholder" ? chosen : covered, covered.length ? "also ignored: " : "");
    if (confirm) decide(chosen, {decision: verb, value: taken.value, ...confirm}, covered);
  }

  const placeholder = (card) =>
    instead(card, "placeholder", "Which placeholder should be stored?", card.placeholders, card.why_none.placeholders);
  const ignore = (card) =>
    instead(card, "ignore", "Which path is ignored from now on?", card.rules, card.why_none.rules);

  // A rule ends with its decision, and with that about any change that it covers.
  function undecide(card) {
    state.steps.push(new Map(state.decided));
    const ended =
      new Set(card.members.flatMap(({seen}) => [seen, ...((state.decided.get(seen) || {}).coveredBy || [])]));
    for (const [seen, {coveredBy}] of state.decided)
      if (ended.has(seen) || (coveredBy || []).some((one) => ended.has(one))) state.decided.delete(seen);
    drawList();
    drawBar();
    focusOn(card);
  }

  function undo() {
    if (!state.steps.length) return;
    state.decided = state.steps.pop();
    drawList();
    drawBar();
    announce("Undone.");
    if (document.activeElement === document.body && state.cards[state.at]) focusOn(state.cards[state.at]);
  }

  async function acceptAll() {
    const left = shown().flatMap(undecided);
    const safe = left.filter((member) => !member.blocked && !member.confirm);
    if (!safe.length) {
      await show("Accept all",
        left.length ?
          "Each of these needs a decision of its own: they are of high risk, lose a placeholder, or cannot be accepted." :
          "Everything is decided.");
      return;
    }
    const rest = left.length - safe.length;
    const yes = await dialog("Accept all safe ones?",
      (close) => [h("p", {}, `${count(safe.length, "change")} of low or medium risk, of those shown, will be accepted.`,
                    rest ? ` ${count(rest, "other")} need a decision of their own.` : ""),
        buttons(button("Accept them", () => close(true), {className: "main"}), button("Cancel", () => close(null)))]);
    if (yes) decide(safe, {decision: "accept"});
  }

  async function write() {
    if (!state.decided.size) return;
    const payload = await dialog(desk.isStatic ? "Export the decisions" : "Write the files", (close) => {
      const by =
        h("input", {type: "text", id: "by", value: recall("baselinekit-by", desk.name || ""), autocomplete: "name"});
      const reason = h("input", {type: "text", id: "reason"});
      const go = () => {
        remember("baselinekit-by", by.value.trim());
        close({
          decisions: decisions(),
          ...(by.value.trim() && {by: by.value.trim()}),
          ...(reason.value.trim() && {reason: reason.value.trim()})
        });
      };
      const counts =
        Object.entries(DONE)
          .map(([verb, word]) => [[...state.decided.values()].filter((one) => one.decision === verb).length, word])
          .filter(([n]) => n);
      return [
        h("p", {}, counts.map(([n, word]) => `${n} ${word}`).join(", ")),
        h("label", {htmlFor: "by"}, "Who approves it"), by, h("label", {htmlFor: "reason"}, "Why"), reason,
        buttons(
          button(desk.isStatic ? "Export" : "Write", go, {className: "main"}), button("Cancel", () => close(null)))
      ];
    });
    if (!payload) return;
    try {
      const result = await desk.write({format: "baselinekit.decisions/1", ...payload});
      if (desk.isStatic) return exported(result);
      state.decided = new Map();
      await written(result);
      await load();
    } catch (error) {
      const before = state.decided.size;
      if (error.codes.includes("BK531")) await load();
      const kept =
        before > state.decided.size ? `\n\nLook again: ${state.decided.size} of ${before} decisions are kept.` : "";
      await show("Nothing was written", error.message + kept);
    }
  }

  function written(result) {
    return dialog("Written",
      (close) => [h("p", {},
                    [
                      ...Object.entries(result.counts).map(([verb, n]) => `${n} ${DONE[verb] || verb}`),
                      ...(result.left ? [`${result.left} left`] : [])
                    ].join(", ")),
        h("ul", {}, result.files.map((file) => h("li", {}, h("code", {}, file)))),
        result.failures.map((text) => h("p", {className: "warning"}, text)),
        result.left && document_.sources.length ? h("p", {}, "The answers are those of the files as they were: ",
                                                    "what is left in a file that was written needs a new compare.") :
                                                  null,
        h("p", {className: "dim"}, "Check it: ", h("code", {}, "baselinekit compare")),
        buttons(button("Close", () => close(null), {className: "main"}))]);
  }

  function exported(text) {
    const isLong = text.length > 60000;
    const comment = `/baselinekit decide\n\n\`\`\`json\n${text}\n\`\`\`\n`;
    return dialog("The decisions",
      (close) => [h("p", {}, "Apply them in the checkout with ",
                    h("code", {}, document_.command || "baselinekit review --decide decisions.json"),
                    isLong ? "." : ", or post them as a comment on the pull request."),
        buttons(button("Save decisions.json", () => download("decisions.json", text, "application/json"),
                  {className: "main"}),
          button("Copy as a comment", () => copyText(comment), {disabled: isLong}),
          button("Copy JSON", () => copyText(text)), button("Close", () => close(null)))]);
  }

  function toggle(card) {
    if (!state.open.delete(card)) state.open.add(card);
    redraw(card);
  }

  function move(step, isAutomatic = false) {
    const old = state.cards[state.at], cards = shown().filter((card) => !isAutomatic || undecided(card).length);
    const after = cards.filter((card) => card.number > state.at),
          before = cards.filter((card) => card.number < state.at);
    const next = step > 0 ? after[0] || (isAutomatic ? before[0] : null) : before[before.length - 1];
    if (isAutomatic && old) {
      state.open.delete(old);
      if (state.left) drawList();
      else redraw(old);
    }
    if (!next) return;
    state.at = next.number;
    state.open.add(next);
    redraw(next);
    focusOn(next);
  }

  function focusOn(card) {
    if (!card.element.isConnected) return;
    card.element.querySelector("button").focus({preventScroll: true});
    card.element.scrollIntoView({block: "nearest"});
  }

  function help() {
    return dialog("Keys",
      (close) => [h("dl", {className: "keys"},
                    KEYS.map(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)])),
        buttons(button("Close", () => close(null)))]);
  }

  const here = () => {
    const inFocus = state.cards.find((card) => card.element && card.element.contains(document.activeElement));
    const cards = shown(), card = inFocus || (cards.includes(state.cards[state.at]) ? state.cards[state.at] : cards[0]);
    if (card) state.at = card.number;
    return card;
  };
  const withCard = (work) => () => {
    const card = here();
    if (card) work(card);
  };
  onKeys(root, {
    j: () => {
      here();
      move(1);
    },
    k: () => {
      here();
      move(-1);
    },
    a: withCard((card) => accept(card)),
    r: withCard((card) => decide(undecided(card), {decision: "reject"})),
    p: withCard(placeholder),
    g: withCard(ignore),
    A: acceptAll,
    u: undo,
    w: write,
    "?": help,
    "/": () => tools.querySelector("input").focus(),
  });
  const leave = (event) => {
    if (state.decided.size) event.preventDefault();
  };
  window.addEventListener("beforeunload", leave);
  fill(root, h("h1", {}, "Review"), notes, tools, list, bar);
  load().catch((error) => fill(list, h("li", {className: "warning"}, error.message)));
}
