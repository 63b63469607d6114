// The review as one file: what is decided is exported.
import {fill, h} from "./dom.js";
import {reviewPage} from "./review.js";

const data = JSON.parse(document.getElementById("data").textContent);
fill(document.getElementById("top"), h("strong", {}, "baselinekit"), " review");
reviewPage(document.getElementById("main"), {
  isStatic: true,
  load: async () => data,
  diff: async (card) => card.diff || {lines: [], problems: ["the diff is not in this page"]},
  check: async ([{decision, value}], offers) => {
    const offered = offers.find(([text]) => text === value);
    if (!offered && !(decision === "placeholder" && /^<<[a-z].*>>$/.test(value))) {
      throw new Error("Without a server only these can be chosen, or a placeholder such as <<any_string>>.");
    }
    return (offered && offered[2]) || [];
  },
  write: async (payload) => JSON.stringify(payload, null, 1),
});
