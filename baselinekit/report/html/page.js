
(function () {
  "use strict";
  var get = function (id) { return document.getElementById(id); };
  var all = function (which) { return Array.prototype.slice.call(document.querySelectorAll(which)); };
  var filter = get("filter"), said = get("said"), results = all(".result"), boxes = all("[data-do=outcome]");
  var texts = null, waiting = 0;
  get("tools").hidden = false;

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

  filter.addEventListener("input", soon);
  boxes.forEach(function (box) { box.addEventListener("change", update); });
  update();
})();
