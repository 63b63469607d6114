// What reports consist of, as elements: headings, notes, tables, differences.
import {h} from "./dom.js";

export function percent(share) {
  return share === null || share === undefined ? "" : `${Math.floor(share * 1000) / 10} %`;
}

export function table(heads, rows, isFigures = true) {
  const cell = (value) => (value && value.text !== undefined ?
      h(value.is_code ? "code" : "span", value.tone ? {className: `${value.tone} tone`} : {},
        value.text.split("\n").flatMap((line, n) => (n ? [h("br"), line] : [line]))) :
      String(value));
  return h("div", {
    className: "wide",
    tabIndex: 0,
    role: "region",
    "aria-label": `Table: ${heads.filter(Boolean).join(", ") || "facts"}`
  },
    h("table", {className: isFigures ? "figures" : ""},
      heads.some(Boolean) ?
        h("thead", {},
          h("tr", {}, heads.map((head) => h("th", {scope: "col"}, head || h("span", {className: "hidden"}, "name"))))) :
        null,
      h("tbody", {},
        rows.map((row) => h("tr", {},
                   row.map((value, n) => (n ? h("td", {}, cell(value)) : h("th", {scope: "row"}, cell(value)))))))));
}

export function blocks(list) {
  return list.map((block) => {
    if (block.kind === "Heading") return h("h3", {}, block.text);
    if (block.kind === "Note")
      return h("p", block.tone ? {className: `${block.tone} tone`} : {}, block.text,
        block.code ? [" ", h("code", {}, block.code)] : null);
    if (block.kind === "Table") return table(block.heads, block.rows, block.figures);
    if (block.kind === "Folded")
      return h("details", {}, h("summary", {}, block.title), h("pre", {className: "lines"}, block.lines.join("\n")));
    return block.diffs.map(
      (diff) => h("section", {className: "diff"},
        h("h3", {}, h("code", {}, diff.path), " ", h("small", {}, diff.remark, " ", diff.place)),
        h("div", {className: "lines", tabIndex: 0, role: "region", "aria-label": `Difference at ${diff.path}`},
          diff.lines.map((line) => h("div", {className: line.tone}, line.text)))));
  });
}
