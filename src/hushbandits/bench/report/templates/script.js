document.querySelectorAll("th button").forEach(function (button) {
  button.addEventListener("click", function () {
    var th = button.closest("th"), row = th.parentNode, body = th.closest("table").tBodies[0];
    var column = Array.prototype.indexOf.call(row.cells, th), up = th.getAttribute("aria-sort") !== "ascending";
    Array.prototype.forEach.call(row.cells, function (cell) { cell.removeAttribute("aria-sort"); });
    th.setAttribute("aria-sort", up ? "ascending" : "descending");
    var value = function (tr) {
      var td = tr.cells[column];
      return td.dataset.v === undefined ? td.textContent : +td.dataset.v;
    };
    Array.from(body.rows).sort(function (a, b) {
      var x = value(a), y = value(b);
      var order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
      return up ? order : -order;
    }).forEach(function (tr) { body.appendChild(tr); });
  });
});
