// The review as one file: what is decided is exported.
import {fill, h} from "./dom.js";
import {reviewPage} from "./review.js";

const data = JSON.parse(document.getElementById("data").textContent);
fill(document.getElementById("top"), h("strong", {}, "baselinekit"), " review");
reviewPage(document.getElementById("main"), {
  isStatic: true,
  load: async () => data,
  diff: async (card) => card.diff || {lines: [], problems: ["the diff is not in this page"]},
  check: async () => {},
  write: async (payload) => JSON.stringify(payload, null, 1),
});
