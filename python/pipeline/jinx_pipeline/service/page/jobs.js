/** The page of jobs. All addresses are relative, so that it works behind any proxy. Text is only set as text. */

const LOOK_MS = 1000;
const ENDED = new Set(["succeeded", "failed", "cancelled"]);

/** @type {string | null} */
let chosen = decodeURIComponent(location.hash.slice(1)) || null;
/** @type {EventSource | null} */
let events = null;
/** The log of the chosen job, as far as it is read. */
let log = { offset: 0, isRead: false };
let ended = -1;
let linksShown = "";
/** Requests for jobs are numbered: an answer that comes after the answer to a later request is not shown. */
let asked = 0;
let shown = 0;
/** @type {Map<string, any>} The buttons of the jobs. */
const buttons = new Map();
/** @type {Map<string, HTMLElement>} The links to datasets. */
const datasetLinks = new Map();

/** @param {string} id */
const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * @param {string} address
 * @param {RequestInit} [how]
 */
async function ask(address, how = {}) {
  const response = await fetch(address, how);
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.detail);
  return answer;
}

/** @param {unknown} error */
function complain(error) {
  element("problem").hidden = error === null;
  if (error !== null) element("problem").textContent = error instanceof Error ? error.message : String(error);
}

/**
 * @param {string} name
 * @param {string} text
 * @param {Record<string, string>} [attributes]
 */
function made(name, text, attributes = {}) {
  const node = document.createElement(name);
  node.textContent = text;
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

/** @param {any} job */
function share(job) {
  if (ENDED.has(job.state)) return 1;
  return job.progress && job.progress.rows ? job.progress.done / job.progress.rows : 0;
}

const count = new Intl.NumberFormat("en-US").format;

/** The address of a dataset in the viewer. @param {string} name */
function viewAddress(name) {
  const bytes = new TextEncoder().encode(name);
  const key = btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return `view/${key}/`;
}

/** What a job has done, and how long it took. @param {any} job */
function words(job) {
  const parts = [];
  if (job.result) parts.push(`${count(job.result.rows_out)} of ${count(job.result.rows_in)} samples kept`);
  else if (job.progress && !ENDED.has(job.state)) {
    const { rows, done, kept, failed } = job.progress;
    parts.push(`${Math.round(100 * share(job))} %`, `${count(done)} of ${count(rows)} samples`, `${count(kept)} kept`);
    if (failed) parts.push(`${count(failed)} failed`);
  } else if (job.error) parts.push(job.error.split("\n")[0].slice(0, 120));
  if (job.started) parts.push(duration((job.ended ?? Date.now() / 1000) - job.started));
  else parts.push(`since ${new Date(1000 * job.created).toLocaleString("en-GB")}`);
  if (job.starts > 1) parts.push(`started ${job.starts} times`);
  return parts.join(" · ");
}

/** @param {number} seconds */
function duration(seconds) {
  // A line does not break between a number and its unit.
  if (seconds < 60) return `${Math.max(0, seconds).toFixed(1)}\u00a0s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60
    ? `${minutes}\u00a0min ${Math.floor(seconds % 60)}\u00a0s`
    : `${Math.floor(minutes / 60)}\u00a0h ${minutes % 60}\u00a0min`;
}

/**
 * The button of a job. It is made once, so that it keeps the focus and a click that has begun.
 * @param {any} job
 */
function buttonOf(job) {
  let one = buttons.get(job.id);
  if (!one) {
    one = { item: document.createElement("li"), button: made("button", "", { type: "button" }), state: made("span", ""), words: made("span", "", { class: "words" }) };
    one.button.append(made("span", job.writes.join(", "), { class: "name" }), one.state, one.words);
    one.button.addEventListener("click", () => choose(job.id).catch(complain));
    one.item.append(one.button);
    buttons.set(job.id, one);
  }
  one.button.setAttribute("aria-current", String(job.id === chosen));
  one.state.textContent = job.state;
  one.state.className = `state ${job.state}`;
  one.words.textContent = words(job);
  return one.item;
}

/** Gives a list its items; those that it has already are left alone. @param {HTMLElement} list @param {HTMLElement[]} items */
function arrange(list, items) {
  const wanted = new Set(items);
  for (const item of /** @type {HTMLElement[]} */ ([...list.children])) if (!wanted.has(item)) item.remove();
  items.forEach((item, i) => list.children[i] !== item && list.insertBefore(item, list.children[i] ?? null));
}

async function look() {
  const number = ++asked;
  try {
    const { jobs } = await ask("v1/jobs?count=100");
    element("no-jobs").hidden = jobs.length > 0;
    arrange(element("jobs"), jobs.map(buttonOf));
    // An ended job may have made a dataset.
    const now = jobs.filter((/** @type {any} */ one) => ENDED.has(one.state)).length;
    if (now !== ended) {
      ended = now;
      await listDatasets();
    }
    const job = jobs.find((/** @type {any} */ one) => one.id === chosen);
    if (job) await show(job, number);
    complain(null);
  } catch (error) {
    complain(error);
  }
  setTimeout(look, LOOK_MS);
}

/** @param {any} job @param {number} number That of the request which the job answers. */
async function show(job, number) {
  if (job.id !== chosen || number < shown) return;
  shown = number;
  element("job").hidden = false;
  element("no-choice").hidden = true;
  element("title").textContent = job.writes.join(", ") || job.id;
  element("title").title = job.id;
  element("state").textContent = job.state;
  element("state").className = `state ${job.state}`;
  element("facts").textContent = `${job.reads.join(", ")} · ${words({ ...job, error: null })}`;
  element("job-error").hidden = !job.error;
  element("job-error").textContent = job.error ?? "";
  const bar = /** @type {HTMLProgressElement} */ (element("progress"));
  bar.value = share(job);
  bar.hidden = job.state === "failed" || job.state === "cancelled";
  const links = [];
  if (job.state === "succeeded" || (job.state === "failed" && job.result)) {
    const address = `v1/jobs/${encodeURIComponent(job.id)}/report`;
    for (const { path } of job.result.outputs) {
      const isOne = job.result.outputs.length === 1;
      links.push(made("a", isOne ? "Open in the viewer" : `Open ${path}`, { href: viewAddress(path) }));
    }
    links.push(made("a", "Report", { href: address, target: "_blank" }));
    const report = /** @type {HTMLIFrameElement} */ (element("report"));
    if (report.getAttribute("src") !== address) report.src = address;
    element("report-part").hidden = false;
  } else element("report-part").hidden = true;
  // A report has the graph, with what each operator did.
  element("plan-part").hidden = !element("report-part").hidden;
  if (!ENDED.has(job.state)) {
    const cancel = made("button", "Cancel", { type: "button", class: "button" });
    cancel.addEventListener("click", () =>
      ask(`v1/jobs/${encodeURIComponent(job.id)}/cancel`, { method: "POST" }).catch(complain),
    );
    links.push(cancel);
  }
  const key = JSON.stringify([job.id, ...links.map((link) => link.textContent)]);
  if (key !== linksShown) element("links").replaceChildren(...links);
  linksShown = key;
  await readLog(job.id);
}

/** Append what is new; only one request at a time, so that nothing is appended twice. @param {string} id */
async function readLog(id) {
  const read = log;
  if (read.isRead) return;
  read.isRead = true;
  try {
    const { text, next } = await ask(`v1/jobs/${encodeURIComponent(id)}/log?offset=${read.offset}`);
    if (read !== log) return;
    if (text) {
      const place = element("log");
      element("log-part").hidden = false;
      const isAtEnd = place.scrollTop + place.clientHeight >= place.scrollHeight - 8;
      place.append(text);
      if (isAtEnd) place.scrollTop = place.scrollHeight;
    }
    read.offset = next;
  } finally {
    read.isRead = false;
  }
}

/** @param {string} id */
async function choose(id) {
  chosen = id;
  log = { offset: 0, isRead: false };
  location.hash = encodeURIComponent(id);
  element("log").textContent = "";
  element("log-part").hidden = true;
  events?.close();
  const number = ++asked;
  const job = await ask(`v1/jobs/${encodeURIComponent(id)}`);
  if (id !== chosen) return;
  /** @type {HTMLImageElement} */ (element("graph")).src = `v1/plans/${encodeURIComponent(job.plan)}/graph`;
  await show(job, number);
  if (ENDED.has(job.state) || id !== chosen) return;
  events?.close();
  const source = (events = new EventSource(`v1/jobs/${encodeURIComponent(id)}/events`));
  source.addEventListener("state", (event) => {
    if (ENDED.has(JSON.parse(/** @type {MessageEvent} */ (event).data).state)) source.close();
    const number = ++asked;
    ask(`v1/jobs/${encodeURIComponent(id)}`).then((job) => show(job, number)).catch(complain);
  });
}

async function listDatasets() {
  const { datasets } = await ask("v1/datasets");
  const linkTo = (/** @type {string} */ name) => {
    const item = datasetLinks.get(name) ?? document.createElement("li");
    if (!item.hasChildNodes()) item.append(made("a", name, { href: viewAddress(name) }));
    datasetLinks.set(name, item);
    return item;
  };
  arrange(element("datasets"), datasets.map(linkTo));
}

if (chosen) choose(chosen).catch(complain);
look();
