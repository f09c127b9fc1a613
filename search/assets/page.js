// Draws every chart in the colours of the page, and again when the reader goes from light to dark or back.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const draw = () => {
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
    for (const box of document.querySelectorAll(".chart")) {
      const text = box.closest("figure").querySelector("script").textContent;
      const figure = JSON.parse(dark.matches ? text.replaceAll("#0072B2", "#56B4E9") : text); // a blue for dark ground
      const layout = { ...figure.layout, template };
      Plotly.react(box, figure.data, layout, { responsive: true, displayModeBar: false });
    }
  };
  draw();
  dark.addEventListener("change", draw);
})();
