// Elements made of texts: nothing from outside is ever read as markup.

export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && !name.startsWith("aria")) element[name] = value;
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  put(element, children);
  return element;
}

export function put(element, ...children) {
  const flat = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== "");
  element.append(...flat);
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren();
  return put(element, ...children);
}

export function button(text, onclick, properties) {
  return h("button", {type: "button", onclick, ...properties}, text);
}

export function count(number, noun) { return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`; }

export function announce(text) { document.getElementById("announce").textContent = text; }

// A dialog that holds the focus. `ask` is given the function that closes it with an answer.
export function dialog(title, build) {
  return new Promise((resolve) => {
    const before = document.activeElement;
    const close = (answer) => {
      box.close();
      box.remove();
      if (before && before.isConnected) before.focus();
      resolve(answer);
    };
    const form = h("form", {method: "dialog"}, h("h2", {id: "dialog-title"}, title));
    const box = h("dialog", {"aria-labelledby": "dialog-title"}, form);
    box.addEventListener("cancel", (event) => {
      event.preventDefault();
      close(null);
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("keydown", (event) => {
      const main = form.querySelector("button.main");
      if (event.key !== "Enter" || !main || event.target.matches("button, textarea")) return;
      event.preventDefault();
      main.click();
    });
    put(form, build(close));
    document.body.append(box);
    box.showModal();
    const first = box.querySelector("input, textarea, select, button");
    if (first) first.focus();
  });
}

export function buttons(...list) { return h("div", {className: "buttons"}, list); }

// A question that is answered by typing a word: a key pressed by mistake accepts nothing.
export function confirmInWords(question, word) {
  return dialog("Please confirm", (close) => {
    const input = h("input", {type: "text", autocomplete: "off", spellcheck: false, id: "confirm-word"});
    const go = () => {
      if (input.value.trim().toLowerCase() === word) close(true);
      else input.focus();
    };
    return [
      h("p", {}, question),
      h("label", {htmlFor: "confirm-word"}, `Type “${word}” to confirm`),
      input,
      buttons(button("Confirm", go, {className: "main"}), button("Cancel", () => close(null))),
    ];
  });
}

export function show(title, text) {
  return dialog(title, (close) => [h("p", {className: "lines"}, text), buttons(button("Close", () => close(null)))]);
}

export function download(name, text, type) {
  const link = h("a", {href: URL.createObjectURL(new Blob([text], {type})), download: name});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    announce("Copied.");
  } catch {
    await dialog("Copy this", (close) => {
      const area = h("textarea", {rows: 12, readOnly: true, value: text, "aria-label": "Text to copy"});
      setTimeout(() => area.select());
      return [area, buttons(button("Close", () => close(null)))];
    });
  }
}

export function remember(key, value) {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(value));
  } catch { /* a browser without storage works without memory */
  }
}

export function recall(key, otherwise) {
  try {
    const text = localStorage.getItem(key);
    return text === null ? otherwise : JSON.parse(text);
  } catch { return otherwise; }
}

// Keys of a part of the page: not while another part is open, a text is typed, a dialog is open, or a modifier is held.
export function onKeys(root, keys) {
  document.addEventListener("keydown", (event) => {
    const types = event.target.matches("input:not([type=checkbox]):not([type=radio]), textarea, select");
    const isOther = root.hidden || event.ctrlKey || event.altKey || event.metaKey;
    if (types || isOther || document.querySelector("dialog[open]")) return;
    const work = keys[event.key];
    if (work && work(event) !== false) event.preventDefault();
  });
}

// The link to the content moves the focus, and leaves the address alone.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main").focus();
});

// A text in parts, marked where the other side differs.
export function markedText(parts, tag) {
  return h(
    "pre", {className: "value", tabIndex: 0}, parts.map(([isChanged, text]) => (isChanged ? h(tag, {}, text) : text)));
}

export function diffLines(lines) {
  const tone = (line) => (line.startsWith("+") ? "came" :
      line.startsWith("-")                     ? "gone" :
      line.startsWith("@")                     ? "dim" :
                                                 "");
  return h("div", {className: "lines", tabIndex: 0, role: "region", "aria-label": "Diff of the file"},
    lines.map((line) => h("div", {className: tone(line)}, line)));
}
