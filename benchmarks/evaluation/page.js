// Sort a table by the column whose heading is pressed: once upwards, again downwards. Empty cells come last.
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const heading = button.closest("th"), body = heading.closest("table").tBodies[0];
    const column = heading.cellIndex, up = heading.getAttribute("aria-sort") !== "ascending";
    for (const other of heading.parentNode.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = (row) => row.cells[column].dataset.value ?? "";
    const compare = (a, b) => {
      const [p, q] = [key(a), key(b)];
      if (p === "" || q === "") return (p === "") - (q === "");
      const order = isNaN(p) || isNaN(q) ? p.localeCompare(q) : p - q;
      return up ? order : -order;
    };
    body.append(...[...body.rows].sort(compare));
  });
}
