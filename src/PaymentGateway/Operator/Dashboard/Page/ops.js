// The page /ops: shows what GET ops/events sends each second, and replays parked payments. All paths are relative.
"use strict";

const [windowLeast, windowMost] = [60, 300]; // seconds; it grows with what there is
const gapLeast = 2.5; // seconds between two events; nobody measured in between
const wholeSteps = Array.from({ length: 24 }, (_, at) => [1, 2, 5][at % 3] * 10 ** Math.floor(at / 3));
const one = id => document.getElementById(id);

// Text and numbers. Times are UTC; money comes as text and stays exact.
const grouped = text => text.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
const count = value => grouped(String(value));
const money = text => grouped(text.split(".")[0]) + "." + text.split(".")[1];
const whole = value => grouped(Math.round(value).toString());
const rate = value => value > 0 && value < 10 ? value.toFixed(1) : whole(value);
const moment = text => !text ? "–" : text.slice(0, 19).replace("T", " ");
const clockTime = seconds => new Date(seconds * 1000).toISOString().slice(11, 19);
const number = value => Number.isInteger(value) ? String(value)
  : value < 1 ? value.toFixed(2) : value < 10 ? value.toFixed(1) : Math.round(value).toString();
const duration = ms => ms === null ? "–" : ms < 1000 ? number(ms) + " ms" : number(ms / 1000) + " s";
const age = seconds => seconds < 60 ? number(seconds) + " s"
  : seconds < 3600 ? Math.floor(seconds / 60) + " min " + Math.floor(seconds % 60) + " s"
  : Math.floor(seconds / 3600) + " h " + Math.floor(seconds % 3600 / 60) + " min";
const words = {
  usable: "Usable", unknown: "Unknown", probe: "Being probed", unusable: "Not usable", disabled: "Disabled",
  half_open: "half open",
};
const states = {
  usable: "good", unknown: "warn", probe: "warn", unusable: "bad", disabled: "", closed: "", half_open: "warn",
  open: "bad",
};

// Writes only what has changed, so that nothing is read out or painted again for nothing.
function put(element, text, state) {
  if (element.textContent !== text) element.textContent = text;
  if (state !== undefined && element.dataset.state !== state) element.dataset.state = state;
}

function make(name, text, className) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}

function copyOf(id) {
  const copy = one(id).content.firstElementChild.cloneNode(true);
  const parts = {};
  for (const part of copy.querySelectorAll("[data-of]")) parts[part.dataset.of] = part;
  return { copy, parts };
}

const processors = {};
function partsOf(name) {
  if (!processors[name]) {
    const { copy, parts } = copyOf("processor");
    parts.name.textContent = name;
    processors[name] = parts;
    one("processors").append(copy);
  }
  return processors[name];
}

function showProcessor(view) {
  const parts = partsOf(view.name);
  const settled = view.settled;
  put(parts.availability, words[view.availability], states[view.availability]);
  put(parts.payments, settled ? count(settled.payments) : "–");
  put(parts.amount, settled ? money(settled.amount) : "–");
  put(parts.rate, settled ? "(" + +(settled.feeRate * 100).toFixed(2) + " %)" : "");
  put(parts.fees, settled ? money(settled.fees) : "–");
  put(parts.calls, rate(view.callsPerSecond) + " /s");
  put(parts.durations, view.calls.p50 === null ? "–" : duration(view.calls.p50) + " · " + duration(view.calls.p99));
  put(parts.expected, duration(view.expectedMilliseconds));
  put(parts.circuit, words[view.circuit] || view.circuit);
  parts.circuit.className = states[view.circuit] || "";
  put(parts.inFlight, count(view.inFlight));
  put(parts.report, !view.report ? "none yet" : (view.reportIsOverdue ? "overdue; last " : "")
    + (view.report.failing ? "failing" : "fine")
    + (view.report.minResponseMs ? ", at least " + duration(view.report.minResponseMs) : "")
    + ", " + age(Math.round(view.report.ageSeconds)) + " ago");
  parts.report.className = view.report && (view.report.failing || view.reportIsOverdue) ? "bad" : "";
}

// Charts: columns of samples, the newest last.
const times = [];
const unusable = [];
const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function shade(plot) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.fillStyle = colour("--shade");
  for (let at = 0; at < times.length; at++) {
    if (!unusable[at]) continue;
    const from = plot.valToPos(times[at] - 1, "x", true);
    const to = plot.valToPos(times[at], "x", true);
    if (to <= bbox.left) continue;
    const left = Math.max(from, bbox.left);
    ctx.fillRect(Math.round(left), bbox.top, Math.round(to) - Math.round(left), bbox.height);
  }
  ctx.restore();
}

function makeChart(title, unit, format, series) {
  const { copy, parts } = copyOf("chart");
  parts.title.textContent = title;
  parts.plot.setAttribute("aria-label", title + ", " + unit + ": a chart; its numbers are in the table below it");
  const table = copy.querySelector("table");
  table.caption.textContent = title + ", " + unit;
  table.parentElement.setAttribute("aria-label", title + " as a table");
  for (const name of ["Time", ...series]) {
    const head = make("th", name, name === "Time" ? "" : "number");
    head.scope = "col";
    table.tHead.rows[0].append(head);
  }
  const values = series.map((name, at) => {
    const line = make("li");
    const value = make("b", "–");
    line.append(make("span", "", "swatch s" + (at % 3 + 1)), name + " ", value);
    parts.key.append(line);
    return value;
  });
  one("charts").append(copy);

  const columns = series.map(() => []);
  const axis = more => ({
    stroke: () => colour("--muted"), font: "11px system-ui, 'DejaVu Sans', sans-serif",
    grid: { stroke: () => colour("--grid"), width: 1 }, ticks: { show: false }, ...more,
  });
  const plot = new uPlot({
    width: 320, height: 170, legend: { show: false }, cursor: { show: false }, padding: [8, 18, 0, 0],
    scales: {
      x: { time: true, range: (_, min, max) => [Math.max(Math.min(min, max - windowLeast), max - windowMost), max] },
      y: { range: (_, __, max) => [0, max > 1 ? max * 1.1 : 1] },
    },
    axes: [
      axis({
        space: 62, size: 28, incrs: [10, 15, 30, 60, 120],
        values: (_, splits, __, ___, step) => splits.map(at => clockTime(at).slice(0, step < 60 ? 8 : 5)),
      }),
      axis({ size: 54, incrs: wholeSteps, values: (_, splits) => splits.map(value => format(value)) }),
    ],
    series: [{}, ...series.map((_, at) => ({
      stroke: () => colour("--series-" + (at % 3 + 1)), width: 1.75, dash: at > 1 ? [at + 1, at + 1] : [],
      points: { show: false },
    }))],
    hooks: { drawClear: [shade] },
  }, [times, ...columns], parts.plot);
  new ResizeObserver(([entry]) => plot.setSize({ width: Math.floor(entry.contentRect.width), height: 170 }))
    .observe(parts.plot);

  const details = copy.querySelector("details");
  function fillTable() {
    if (!details.open) return;
    table.tBodies[0].replaceChildren(...times.slice(-20).reverse().map((time, back) => {
      const row = make("tr");
      const head = make("th", clockTime(time));
      head.scope = "row";
      const at = times.length - 1 - back;
      row.append(head, ...columns.map(column =>
        make("td", column[at] === null ? "–" : format(column[at]), "number")));
      return row;
    }));
  }
  details.addEventListener("toggle", fillTable);
  return {
    add(newest) {
      columns.forEach((column, at) => {
        const value = newest[at] ?? null;
        column.push(value);
        put(values[at], value === null ? "–" : format(value));
      });
    },
    trim() { for (const column of columns) column.shift(); },
    draw() {
      plot.setData([times, ...columns]);
      fillTable();
    },
  };
}

const charts = [];
function makeCharts(names) {
  charts.push(
    makeChart("Payments", "per second", rate, ["accepted", "settled"]),
    makeChart("Accepting and charging, p99", "time", duration, ["accepting", ...names]),
    makeChart("Backlog", "payments", whole, ["unsettled", "in doubt"]));
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach(chart => chart.draw()));

function addSample(time, isUnusable, ...values) {
  times.push(time);
  unusable.push(isUnusable);
  charts.forEach((chart, at) => chart.add(values[at]));
}

function addToCharts(view) {
  if (!charts.length) makeCharts(view.processors.map(processor => processor.name));
  const [time, last] = [Date.parse(view.at) / 1000, times.at(-1)];
  if (time - last > gapLeast) addSample(last + 1, false, [], [], []); // The lines break there.
  addSample(time, view.processors[0].availability !== "usable", [view.acceptedPerSecond, view.settledPerSecond],
    [view.accepts.p99, ...view.processors.map(processor => processor.calls.p99)],
    [view.backlog.payments, view.inDoubt]);
  while (times.length > windowMost + 2) {
    times.shift();
    unusable.shift();
    for (const chart of charts) chart.trim();
  }
  for (const chart of charts) chart.draw();
}

function showInstances(view) {
  one("instances").replaceChildren(...view.instances.map(({ reading, isSilent, ageSeconds }) => {
    const row = make("tr");
    const head = make("th", reading.name);
    head.scope = "row";
    const state = make("td");
    state.append(isSilent ? pill("Silent for " + age(Math.round(ageSeconds)), "bad")
      : reading.leaseHeld ? pill("Running", "good") : pill("May not charge", "warn"));
    const numbers = isSilent ? ["–", "–", "–", "–"]
      : [rate(reading.acceptedPerSecond), rate(reading.settledPerSecond), count(reading.unsettled),
        count(reading.inDoubt)];
    row.append(head, state, ...numbers.map(text => make("td", text, "number")),
      make("td", reading.lanes.map(lane => words[lane.circuit] || lane.circuit).join(" · ")),
      make("td", isSilent ? "–" : Math.round(reading.memoryBytes / 1e6) + " MB", "number"));
    return row;
  }));
}

function showPayers(view) {
  one("payers").hidden = view.payers.length === 0;
  one("payer-rows").replaceChildren(...view.payers.map(payer => {
    const row = make("tr");
    const head = make("th", payer.name);
    head.scope = "row";
    row.append(head, make("td", count(payer.accepted), "number"), make("td", count(payer.refused), "number"));
    return row;
  }));
}

function pill(text, state) {
  const element = make("span", text, "pill");
  element.dataset.state = state;
  return element;
}

// What needs attention; what is new of it, or over, is also read out.
let noticed = new Map();
function showNotices(view) {
  const notices = new Map();
  if (!view.database)
    notices.set("PostgreSQL does not answer; only " + view.answeredBy + " is shown.", "bad");
  if (view.ledgerReset)
    notices.set("A crash of PostgreSQL has emptied the ledger. Stop clients that repeat payments; a purge comes last.",
      "bad");
  for (const processor of view.processors) {
    if (processor.availability === "unusable" || processor.circuit !== "closed")
      notices.set("Processor " + processor.name + " fails: payments wait for it, or go to another.", "bad");
    else if (processor.availability === "probe")
      notices.set("Processor " + processor.name + " is slow or fails: single payments try it.", "warn");
    else if (processor.availability === "unknown")
      notices.set("Processor " + processor.name + " is idle and its health report is overdue.", "warn");
  }
  for (const processor of view.processors)
    if (processor.unreadable)
      notices.set("Processor " + processor.name + " answers look-ups with what cannot be read: event 414 shows it.",
        "bad");
  for (const instance of view.instances)
    if (instance.isSilent)
      notices.set(
        "Instance " + instance.reading.name + " is silent: if it has ended, another one adopts its payments.", "bad");
  for (const hook of view.failingWebhooks)
    notices.set("The webhook " + hook.name + " fails: " + hook.failure + ".", hook.seconds > 900 ? "bad" : "warn");
  if (view.parked && view.parked.payments)
    notices.set(view.parked.payments === 1 ? "A payment is parked." : "Payments are parked.", "warn");

  const news = [...notices.keys()].filter(text => !noticed.has(text))
    .concat([...noticed.keys()].filter(text => !notices.has(text)).map(text => "No more: " + text));
  if (news.length === 0) return;
  one("news").textContent = news.join(" ");
  one("notices").replaceChildren(...[...notices].map(([text, state]) => {
    const line = make("li", text);
    line.dataset.state = state;
    return line;
  }));
  noticed = notices;
}

function show(view) {
  put(one("answered"), "answered by " + view.answeredBy + " at " + view.at.slice(11, 19) + " UTC");
  one("sign-out").hidden = !view.tokenNeeded;
  put(one("accepted"), rate(view.acceptedPerSecond));
  put(one("settled"), rate(view.settledPerSecond));
  put(one("backlog"), count(view.backlog.payments) + (view.backlog.isMore ? "+" : ""));
  put(one("oldest"), view.backlog.oldestSeconds > 0 ? "oldest " + age(view.backlog.oldestSeconds) : "");
  put(one("in-doubt"), count(view.inDoubt), view.inDoubt ? "warn" : "");
  const parked = view.parked;
  put(one("parked-count"), parked ? count(parked.payments) + (parked.isMore ? "+" : "") : "–",
    parked && parked.payments ? "bad" : "");
  put(one("accept-p50"), duration(view.accepts.p50));
  put(one("accept-p99"), duration(view.accepts.p99));
  view.processors.forEach(showProcessor);
  showPayers(view);
  showInstances(view);
  showNotices(view);
  showParked(parked);
  addToCharts(view);
}

// Parked payments: counted with each event, listed when that has changed.
let listed = "";
let asked = 0;
async function showParked(parked) {
  put(one("parked-none"), parked ? "None: no processor has rejected a payment for good."
    : "Unknown: PostgreSQL does not answer.");
  if (!parked) return;
  one("parked-none").hidden = parked.payments > 0;
  one("parked-some").hidden = parked.payments === 0;
  const now = JSON.stringify(parked);
  if (now === listed) return;
  listed = now;
  const mine = ++asked;
  one("reasons").replaceChildren(...parked.reasons.map(reason => {
    const line = make("li");
    line.append(make("b", count(reason.payments)), " × " + reason.reason);
    return line;
  }));
  if (parked.payments === 0) {
    one("parked-rows").replaceChildren();
    return;
  }
  const page = await fetch("ops/payments?state=parked").then(answer => answer.ok ? answer.json() : null)
    .catch(() => null);
  if (mine !== asked) return; // Counted anew meanwhile: that one's list is the newer.
  if (!page) {
    listed = ""; // The next event asks again.
    return;
  }
  const focused = document.activeElement && document.activeElement.dataset.id;
  one("parked-rows").replaceChildren(...page.payments.map(payment => {
    const row = make("tr");
    const head = make("th");
    head.scope = "row";
    head.append(make("span", payment.correlationId, "id"));
    const button = make("button", "Replay");
    button.dataset.id = payment.correlationId;
    button.setAttribute("aria-label", "Replay " + payment.correlationId);
    button.addEventListener("click", () => replayOne(button));
    const action = make("td");
    action.append(button);
    row.append(action, head, make("td", money(payment.amount.toFixed(2)), "number"),
      make("td", moment(payment.acceptedAt)), make("td", moment(payment.parkedAt)), make("td", payment.parkedReason));
    return row;
  }));
  if (focused) {
    const again = [...one("parked-rows").querySelectorAll("button")].find(button => button.dataset.id === focused);
    if (again) again.focus();
  }
}

const inDoubt = " In doubt until a processor has answered.";

async function replay(path) {
  try {
    const answer = await fetch(path, { method: "POST" });
    if (answer.ok) return answer;
    const problem = await answer.json().catch(() => ({}));
    one("replayed").textContent = "Not replayed: " + (problem.detail || "the gateway answered " + answer.status);
  } catch {
    one("replayed").textContent = "Not replayed: the gateway did not answer.";
  }
  return null;
}

async function replayOne(button) {
  button.disabled = true;
  const done = await replay("ops/parked/" + button.dataset.id + "/replay");
  button.disabled = false;
  if (!done) return button.focus();
  one("replayed").textContent = "Replayed " + button.dataset.id + "." + inDoubt;
  const next = button.closest("tr").nextElementSibling || button.closest("tr").previousElementSibling;
  button.closest("tr").remove();
  (next ? next.querySelector("button") : one("replayed")).focus();
}

one("replay-all").addEventListener("click", () => {
  one("sure-text").textContent = one("parked-count").textContent
    + " parked. Each is charged again at the processor that rejected it.";
  one("sure").returnValue = "no";
  one("sure").showModal();
});
one("sure").addEventListener("close", async () => {
  if (one("sure").returnValue !== "yes") return;
  one("replayed").focus(); // The button is gone when nothing is parked.
  one("replay-all").disabled = true;
  const answer = await replay("ops/parked/replay");
  one("replay-all").disabled = false;
  if (!answer) return;
  const { replayed, complete } = await answer.json().catch(() => ({ replayed: "some", complete: false }));
  one("replayed").textContent = "Replayed " + count(replayed) + "."
    + (complete ? "" : " Replay again: more are parked.") + inDoubt;
});

// The stream. The browser connects again by itself, but not after an answer that is none; a session may have ended.
let quiet;
function connection(text, state) {
  put(one("connection"), text, state);
}
function connect() {
  const events = new EventSource("ops/events");
  function expectNext() {
    clearTimeout(quiet);
    quiet = setTimeout(() => connection("No news", "warn"), 4000);
  }
  events.onmessage = message => {
    connection("Live", "good");
    expectNext();
    show(JSON.parse(message.data));
  };
  events.onerror = () => {
    connection("Connection lost, trying again", "bad");
    if (events.readyState !== EventSource.CLOSED) return;
    setTimeout(async () => {
      const page = await fetch("ops", { method: "HEAD", redirect: "manual" }).catch(() => null);
      if (page && page.type === "opaqueredirect") location.reload();
      else connect();
    }, 2000);
  };
}
connect();
