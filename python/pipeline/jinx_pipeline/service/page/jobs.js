/** The page of jobs. All addresses are relative, so that it works behind any proxy. Text is only set as text. */

const LOOK_MS = 1000;
const ENDED = new Set(["succeeded", "failed", "cancelled"]);

/** @type {string | null} */
let chosen = decodeURIComponent(location.hash.slice(1)) || null;
/** @type {EventSource | null} */
let events = null;
let logOffset = 0;
let ended = -1;
let isReading = false;

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

async function look() {
  try {
    const { jobs } = await ask("v1/jobs?count=100");
    element("no-jobs").hidden = jobs.length > 0;
    // Drawn anew each second: a key press must not lose its place.
    const focused = element("jobs").contains(document.activeElement) ? document.activeElement?.getAttribute("data-id") : null;
    element("jobs").replaceChildren(
      ...jobs.map((/** @type {any} */ job) => {
        const button = made("button", "", { type: "button", "aria-current": String(job.id === chosen), "data-id": job.id });
        button.append(made("span", job.writes.join(", "), { class: "name" }), made("span", job.state, { class: `state ${job.state}` }), made("span", words(job), { class: "words" }));
        button.addEventListener("click", () => choose(job.id).catch(complain));
        const item = document.createElement("li");
        item.append(button);
        return item;
      }),
    );
    if (focused) /** @type {HTMLElement | null} */ (document.querySelector(`#jobs [data-id="${CSS.escape(focused)}"]`))?.focus();
    // An ended job may have made a dataset.
    const now = jobs.filter((/** @type {any} */ one) => ENDED.has(one.state)).length;
    if (now !== ended) {
      ended = now;
      await listDatasets();
    }
    const job = jobs.find((/** @type {any} */ one) => one.id === chosen);
    if (job) await show(job);
    complain(null);
  } catch (error) {
    complain(error);
  }
  setTimeout(look, LOOK_MS);
}

/** @param {any} job */
async function show(job) {
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
  if (links.map((link) => link.textContent).join() !== element("links").textContent) element("links").replaceChildren(...links);
  await readLog(job.id);
}

/** Append what is new; only one request at a time, so that nothing is appended twice. @param {string} id */
async function readLog(id) {
  if (isReading) return;
  isReading = true;
  try {
    const { text, next } = await ask(`v1/jobs/${encodeURIComponent(id)}/log?offset=${logOffset}`);
    if (id !== chosen) return;
    if (text) {
      const log = element("log");
      element("log-part").hidden = false;
      const isAtEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 8;
      log.append(text);
      if (isAtEnd) log.scrollTop = log.scrollHeight;
    }
    logOffset = next;
  } finally {
    isReading = false;
  }
}

/** @param {string} id */
async function choose(id) {
  chosen = id;
  logOffset = 0;
  location.hash = encodeURIComponent(id);
  element("log").textContent = "";
  element("log-part").hidden = true;
  events?.close();
  const job = await ask(`v1/jobs/${encodeURIComponent(id)}`);
  /** @type {HTMLImageElement} */ (element("graph")).src = `v1/plans/${encodeURIComponent(job.plan)}/graph`;
  await show(job);
  if (ENDED.has(job.state)) return;
  events = new EventSource(`v1/jobs/${encodeURIComponent(id)}/events`);
  events.addEventListener("state", async (event) => {
    if (ENDED.has(JSON.parse(/** @type {MessageEvent} */ (event).data).state)) events?.close();
    await show(await ask(`v1/jobs/${encodeURIComponent(id)}`)).catch(complain);
  });
}

async function listDatasets() {
  const { datasets } = await ask("v1/datasets");
  element("datasets").replaceChildren(
    ...datasets.map((/** @type {string} */ name) => {
      const item = document.createElement("li");
      item.append(made("a", name, { href: viewAddress(name) }));
      return item;
    }),
  );
}

if (chosen) choose(chosen).catch(complain);
look();
