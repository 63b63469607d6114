
(function () {
  "use strict";
  var get = function (id) { return document.getElementById(id); };
  var all = function (which) { return Array.prototype.slice.call(document.querySelectorAll(which)); };
  var filter = get("filter"), said = get("said"), results = all(".result"), boxes = all("[data-do=outcome]");
  var texts = null, waiting = 0;
  all(".only-script").forEach(function (part) { part.hidden = false; });

  function update() {
    waiting = 0;
    var words = filter.value.toLowerCase().split(/\s+/).filter(Boolean), wanted = {}, count = 0;
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
  update();
  target();
})();
