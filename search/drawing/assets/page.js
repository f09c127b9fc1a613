// Draws every chart in the colours of the page, again when the reader switches between light and dark.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const draw = (within) => {
    const style = getComputedStyle(document.body);
    const colour = (name) => style.getPropertyValue(name).trim();
    const axis = {
      gridcolor: colour("--grid"),
      linecolor: colour("--line"),
      zerolinecolor: colour("--line"),
      title: { font: { size: 13 } },
    };
    const template = {
      layout: {
        font: { color: colour("--text"), family: style.fontFamily, size: 13 },
        paper_bgcolor: "rgba(0,0,0,0)",
        plot_bgcolor: "rgba(0,0,0,0)",
        hoverlabel: { bgcolor: colour("--raised"), bordercolor: colour("--line"), font: { color: colour("--text") } },
        xaxis: axis,
        yaxis: axis,
      },
    };
    for (const box of within.querySelectorAll("figure:not([hidden]) .chart")) {
      const text = box.closest("figure").querySelector("script").textContent;
      const figure = JSON.parse(dark.matches ? text.replaceAll("#0072B2", "#56B4E9") : text); // a lighter blue on dark pages
      const layout = { ...figure.layout, template };
      Plotly.react(box, figure.data, layout, { responsive: true, displayModeBar: false });
    }
  };

  // In a group of similar charts, shows those that match the chosen values.
  const choose = (group, clicked) => {
    const figures = [...group.querySelectorAll("figure")].map((box) => [box, JSON.parse(box.dataset.when)]);
    const inputs = [...group.querySelectorAll("input")];
    const checked = inputs.filter((input) => input.checked);
    const chosen = Object.fromEntries(checked.map((input) => [input.name, input.value]));
    const fitting = (when) => Object.entries(when).filter(([name, value]) => chosen[name] === value).length;
    const fits = ([, when]) => fitting(when) === Object.keys(when).length;
    if (!figures.some(fits)) {
      // No chart matches: keep the clicked value and change as few of the other choices as possible.
      const able = figures.map(([, when]) => when).filter((when) => !clicked || when[clicked.name] === clicked.value);
      Object.assign(chosen, able.sort((first, second) => fitting(second) - fitting(first))[0]);
      for (const input of inputs) input.checked = chosen[input.name] === input.value;
    }
    for (const figure of figures) figure[0].hidden = !fits(figure);
  };
  for (const group of document.querySelectorAll(".choosable")) {
    choose(group); // a browser may remember what was chosen before the page was loaded again
    group.addEventListener("change", (event) => {
      choose(group, event.target);
      draw(group);
    });
  }

  draw(document);
  dark.addEventListener("change", () => draw(document));
})();
