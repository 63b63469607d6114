// The page: three parts, and how they ask the server.
import {fill, h} from "./dom.js";
import {ratePage} from "./rate.js";
import {reviewPage} from "./review.js";
import {runsPage} from "./runs.js";

history.replaceState(null, "", location.pathname + location.hash);  // the token is not to stay in the address

class Failure extends Error {
  constructor(problems, status) {
    super(problems
        .map((one) => [one.code, one.where && `${one.where}:`, one.what + (one.fix ? `: ${one.fix}` : "")]
               .filter(Boolean)
               .join(" "))
        .join("\n"));
    this.status = status;
    this.codes = problems.map((one) => one.code);
  }
}

async function ask(name, query, body) {
  const options = body === undefined ?
    {} :
    {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)};
  const text = new URLSearchParams(query || {}).toString();
  let answer;
  try {
    answer = await fetch(`/api/${name}${text && `?${text}`}`, options);
  } catch {
    throw new Failure(
      [{code: "", what: "the server does not answer", fix: "is `baselinekit serve` still running?"}], 0);
  }
  const value = await answer.json().catch(
    () => ({problems: [{code: "", what: `the server answered ${answer.status}`, fix: "try again"}]}));
  if (!answer.ok) throw new Failure(value.problems, answer.status);
  return value;
}

const get = (name, query) => ask(name, query);
const post = (name, body) => ask(name, null, body);
const api = {
  get,
  post
};

const PARTS = {
  review: [
    "Review", (root, about) => reviewPage(root, {
      name: about.name,
      load: () => get("review"),
      diff: (card, decisions) => post("review/diff", {decisions}),
      check: (decisions) => post("review/diff", {decisions}),
      write: (payload) => post("review/write", payload),
    })
  ],
  rate: ["Rate", (root, about) => ratePage(root, api, about)],
  runs: ["Runs", (root) => runsPage(root, api)],
};

let leave = () => {};

async function start() {
  const main = document.getElementById("main"), top = document.getElementById("top");
  let about;
  try {
    about = await get("about");
  } catch (error) {
    fill(main, h("p", {className: "warning"}, error.message));
    return;
  }
  const names = about.is_operator ? Object.keys(PARTS) : ["rate"];
  const open = () => {
    const name = location.hash.slice(1).split("/")[0];
    const part = names.includes(name) ? name : names.find((one) => about.counts[one]) || names[0];
    leave();
    document.title = `${PARTS[part][0]} – baselinekit`;
    const link = (one) => h("a", {href: `#${one}`, "aria-current": one === part ? "page" : null},
      PARTS[one][0], about.counts[one] ? ` (${about.counts[one]})` : "");
    fill(top, h("strong", {}, "baselinekit"), h("span", {className: "dim"}, about.project),
      h("nav", {"aria-label": "Parts"}, names.map(link)));
    leave = PARTS[part][1](main, about) || (() => {});
  };
  let last = "";
  window.addEventListener("hashchange", () => {
    const part = location.hash.slice(1).split("/")[0];
    if (part !== last) open();
    last = part;
  });
  open();
}

start();
