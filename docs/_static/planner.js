/* How often an audit certifies, from the table that `python -m benchmarks.planner` simulates with the library. */
const planner = (() => {
  const { axes, labels, slope } = PLANNER_TABLE;
  const names = Object.keys(axes);
  const scale = { tolerance: Math.log, delta: Math.log, least: Math.log };
  const on = (name, value) => (scale[name] || Number)(value);

  /* Between which two values of an axis a value lies, and how far along; beyond the ends it is the end. */
  function place(name, value) {
    const axis = axes[name];
    const inside = Math.min(Math.max(value, axis[0]), axis[axis.length - 1]);
    let i = 0;
    while (i < axis.length - 2 && inside > axis[i + 1]) i += 1;
    return [i, (on(name, inside) - on(name, axis[i])) / (on(name, axis[i + 1]) - on(name, axis[i]))];
  }

  /* Log of the labels with which half of the audits certify, and the slope, for a pool without end. */
  function curve(given, apart) {
    const values = { ...given, apart, least: given.smallest * given.groups };
    let corners = [[0, 1]];
    for (const name of names) {
      const [i, part] = place(name, values[name]);
      const step = ([index, weight]) => [[index * axes[name].length + i, weight * (1 - part)],
        [index * axes[name].length + i + 1, weight * part]];
      corners = corners.flatMap(step).filter(([, weight]) => weight > 0);
    }
    const mean = (numbers) => corners.reduce((sum, [index, weight]) => sum + weight * numbers[index], 0);
    return [mean(labels) / 100, mean(slope) / 10];
  }

  /* Of a pool with an end, each label tells more. */
  const chance = (given, apart) => {
    const [middle, steep] = curve(given, apart);
    const times = given.budget / (1 - given.budget / given.rows) / Math.exp(middle);
    return 1 / (1 + Math.exp(-steep * (times < 1 ? 1 - 1 / times : Math.log(times))));
  };
  const needed = (given, wanted, apart) => {
    const [middle, steep] = curve(given, apart);
    const odds = Math.log(wanted / (1 - wanted)) / steep;
    const many = Math.exp(middle) * (odds < 0 ? 1 / (1 - odds) : Math.exp(odds));
    return Math.ceil(many / (1 + many / given.rows));
  };
  return { chance, labels: needed };
})();

if (typeof document !== "undefined") {
  document.addEventListener("DOMContentLoaded", () => {
    const form = document.getElementById("planner");
    if (!form) return;
    const show = () => {
      const given = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, Number(value)]));
      for (const name of ["smallest", "accepted", "yes", "no"]) given[name] /= 100;
      const out = form.querySelector("output");
      const wrong = [...form.elements].find((field) => field.name && (field.value === "" || !field.checkValidity()));
      if (wrong) {
        const [least, most] = [wrong.min, wrong.max].map((limit) => Number(limit).toLocaleString("en"));
        out.textContent = `${wrong.labels[0].firstChild.textContent.trim()}: `
          + `${wrong.step === "any" ? "" : "a whole number "}from ${least} to ${most}.`;
        return;
      }
      if (given.smallest * given.groups > 1.0001) {
        out.textContent = `The smallest of ${given.groups} groups has at most ${Math.floor(100 / given.groups)} % of the rows.`;
        return;
      }
      if (given.budget >= given.rows) {
        out.textContent = `An audit that labels all ${given.rows.toLocaleString("en")} rows is decided exactly: give a smaller budget.`;
        return;
      }
      const of100 = (share) => Math.min(95, Math.max(5, 5 * Math.round(20 * share))); // no better than that
      const many = (number) => Number(number.toPrecision(2)).toLocaleString("en");
      out.textContent = `With ${given.budget.toLocaleString("en")} labels about ${of100(planner.chance(given, 0))} of 100 audits certify `
        + `if the groups are alike, and ${of100(planner.chance(given, 0.5))} if they are half the tolerance apart. `
        + `8 of 10 certify with about ${many(planner.labels(given, 0.8, 0))} and ${many(planner.labels(given, 0.8, 0.5))} labels.`;
    };
    form.addEventListener("input", show);
    show();
  });
}
