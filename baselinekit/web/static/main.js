// The page: three parts, and how they ask the server.
import {fill, h} from "./dom.js";
import {ratePage} from "./rate.js";
import {reviewPage} from "./review.js";
import {runsPage} from "./runs.js";

// The token of the link stays in this tab: it is in no address, in no cookie, and other pages do not have it.
function takeToken() {
  const given = /^#token=([\w-]+)/.exec(location.hash);
  if (!given) return false;
  sessionStorage.setItem("token", given[1]);
  history.replaceState(null, "", location.pathname);
  return true;
}
takeToken();
window.addEventListener("hashchange", () => {
  if (takeToken()) location.reload();  // a newer link was pasted into this tab
});

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
  const headers = {Authorization: `Bearer ${sessionStorage.getItem("token") || ""}`};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const options = {headers, method: body === undefined ? "GET" : "POST", body: body && JSON.stringify(body)};
  const text = new URLSearchParams(query || {}).toString();
  let answer;
  try {
    answer = await fetch(`/api/${name}${text && `?${text}`}`, options);
  } catch {
    throw new Failure([{what: "the server does not answer", fix: "is `baselinekit serve` still running?"}], 0);
  }
  const isJson = (answer.headers.get("content-type") || "").startsWith("application/json");
  if (!isJson && answer.ok) return answer.text();
  const value = await answer.json().catch(() => ({problems: [{what: `the server answered ${answer.status}`}]}));
  if (!answer.ok) throw new Failure(value.problems, answer.status);
  return value;
}

const api = {
  get: (name, query) => ask(name, query),
  post: (name, body) => ask(name, null, body),
  changed: () => {},
};

const PARTS = {
  review: [
    "Review", (root, about) => reviewPage(root, {
      name: about.name,
      load: () => api.get("review"),
      diff: (card, decisions) => api.post("review/diff", {decisions}),
      check: async (decisions) => (await api.post("review/diff", {decisions})).covered,
      write: async (payload) => {
        const result = await api.post("review/write", payload);
        api.changed();
        return result;
      },
    })
  ],
  rate: ["Rate", (root, about) => ratePage(root, api, about)],
  runs: ["Runs", (root) => runsPage(root, api)],
};

// Each part is made when it is opened first, and keeps what was done in it.
async function start() {
  const main = document.getElementById("main"), top = document.getElementById("top");
  let about;
  try {
    about = await api.get("about");
  } catch (error) {
    fill(main, h("p", {className: "warning"}, error.message));
    return;
  }
  const names = about.is_operator ? Object.keys(PARTS) : ["rate"], made = {};
  let current = names.find((one) => about.counts[one]) || names[0];
  fill(main);
  const draw = () => {
    const link = (one) => h("a", {href: `#${one}`, "aria-current": one === current ? "page" : null}, PARTS[one][0],
      about.counts[one] ? ` (${about.counts[one]})` : "");
    document.title = `${PARTS[current][0]} – baselinekit`;
    fill(top, h("strong", {}, "baselinekit"), h("span", {className: "dim"}, about.project),
      h("nav", {"aria-label": "Parts"}, names.map(link)));
  };
  const open = () => {
    const name = location.hash.slice(1).split("/")[0];
    if (names.includes(name)) current = name;
    for (const [one, root] of Object.entries(made)) root.hidden = one !== current;
    draw();
    if (made[current]) return;
    made[current] = h("div", {});
    main.append(made[current]);
    PARTS[current][1](made[current], about);
  };
  api.changed = async () => {
    about = await api.get("about").catch(() => about);
    draw();
  };
  window.addEventListener("hashchange", open);
  open();
}

start();
