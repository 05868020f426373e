// Plotly, in this page's clothes. Colours: Okabe-Ito; groups never wear a method's colour.

// A variable's colour as the present theme resolves it: only a real element knows.
const probe = document.body.appendChild(Object.assign(document.createElement("span"), { hidden: true }));
const css = (name) => {
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
};
const FONT = getComputedStyle(document.body).fontFamily;
const still = matchMedia("(prefers-reduced-motion: reduce)").matches;

const band = (x, low, high, colour, axis) => ({
  x: [...x, ...[...x].reverse()], y: [...high, ...[...low].reverse()], yaxis: axis, fill: "toself", fillcolor: colour,
  line: { width: 0 }, hoverinfo: "skip", showlegend: false, type: "scatter", mode: "lines",
});

const line = (x, y, colour, axis, name) => ({
  x, y, yaxis: axis, name, mode: x.length > 1 ? "lines+markers" : "markers", line: { color: colour, width: 2.5 },
  marker: { size: 6, color: colour }, hovertemplate: `%{x} labels<br>${name} %{y:.3f}<extra></extra>`, showlegend: false, type: "scatter",
});

// Accuracy above, violation below, aligned on labels; the forbidden side is tinted.
export function curves(node, history, tolerance, budget) {
  const seen = history.filter((entry) => entry.estimate);
  const x = seen.map((entry) => entry.labels);
  const part = (name, key) => seen.map((entry) => entry.estimate[name]?.[key] ?? null);
  const gaps = part("violation", "high").filter((v) => v !== null);
  const top = Math.max(2.2 * tolerance, Math.min(1, Math.max(0, ...gaps) * 1.1));
  const lows = part("accuracy", "low");
  const floor = Math.max(0, Math.min(0.5, ...lows) - 0.05);
  const data = [
    band(x, part("accuracy", "low"), part("accuracy", "high"), css("--blue-tint"), "y"),
    line(x, part("accuracy", "value"), css("--blue"), "y", "accuracy"),
    band(x, part("violation", "low"), part("violation", "high"), css("--orange-tint"), "y2"),
    line(x, part("violation", "value"), css("--orange"), "y2", "violation"),
  ];
  const grid = css("--grid");
  const axis = { gridcolor: grid, zeroline: false, linecolor: grid, fixedrange: true };
  const span = [0, Math.max(budget, ...x) * 1.02];
  const layout = {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family: FONT, size: 13, color: css("--muted") },
    margin: { l: 64, r: 12, t: 8, b: 46 }, hovermode: "closest", showlegend: false,
    xaxis: { ...axis, range: span, anchor: "y2", title: { text: "labels" } },
    yaxis: { ...axis, domain: [0.56, 1], range: [floor, 1], title: { text: "accuracy", standoff: 10 }, tickformat: ".0%" },
    yaxis2: { ...axis, domain: [0, 0.44], range: [0, top], title: { text: "violation", standoff: 10 } },
    shapes: [
      { type: "rect", xref: "paper", x0: 0, x1: 1, yref: "y2", y0: tolerance, y1: top, fillcolor: css("--forbidden"), line: { width: 0 }, layer: "below" },
      { type: "line", xref: "paper", x0: 0, x1: 1, yref: "y2", y0: tolerance, y1: tolerance, line: { color: css("--red"), width: 1.5, dash: "dash" } },
    ],
    annotations: [{ xref: "paper", x: 1, xanchor: "right", yref: "y2", y: tolerance, yanchor: "bottom", text: `tolerance ${tolerance}`, showarrow: false, font: { size: 12, color: css("--red") } }],
    transition: { duration: still ? 0 : 250 },
  };
  const drawn = window.Plotly.react(node, data, layout, { displayModeBar: false, responsive: true });
  document.getElementById("js-plotly-tester")?.setAttribute("aria-hidden", "true"); // Plotly's own ruler
  return drawn;
}
