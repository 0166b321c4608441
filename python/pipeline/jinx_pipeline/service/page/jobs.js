/** The page of jobs. All addresses are relative, so that it works behind any proxy. Text is only set as text. */

const LOOK_MS = 1000;
const ENDED = new Set(["succeeded", "failed", "cancelled"]);

/** @type {string | null} */
let chosen = decodeURIComponent(location.hash.slice(1)) || null;
/** @type {EventSource | null} */
let events = null;
let logOffset = 0;
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

/** @param {any} job */
function words(job) {
  if (job.error) return `${job.state}: ${job.error}`;
  if (job.result) return `${job.state}: ${job.result.rows_out} of ${job.result.rows_in} samples`;
  return job.progress ? `${job.state}: ${Math.round(100 * share(job))} %, ${job.progress.kept} kept` : job.state;
}

async function look() {
  try {
    const { jobs } = await ask("v1/jobs?count=100");
    element("no-jobs").hidden = jobs.length > 0;
    element("jobs").replaceChildren(
      ...jobs.map((/** @type {any} */ job) => {
        const button = made("button", `${job.writes.join(", ")} (${words(job)})`, { "aria-current": String(job.id === chosen) });
        button.addEventListener("click", () => choose(job.id));
        const item = document.createElement("li");
        item.append(button);
        return item;
      }),
    );
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
  element("title").textContent = job.id;
  element("facts").textContent = words(job);
  /** @type {HTMLProgressElement} */ (element("progress")).value = share(job);
  const links = [];
  if (job.state === "succeeded" || (job.state === "failed" && job.result)) {
    links.push(made("a", "Report", { href: `v1/jobs/${encodeURIComponent(job.id)}/report`, target: "_blank" }));
  }
  if (!ENDED.has(job.state)) {
    const cancel = made("button", "Cancel");
    cancel.addEventListener("click", () =>
      ask(`v1/jobs/${encodeURIComponent(job.id)}/cancel`, { method: "POST" }).catch(complain),
    );
    links.push(cancel);
  }
  element("links").replaceChildren(...links);
  await readLog(job.id);
}

/** Append what is new; only one request at a time, so that nothing is appended twice. @param {string} id */
async function readLog(id) {
  if (isReading) return;
  isReading = true;
  try {
    const { text, next } = await ask(`v1/jobs/${encodeURIComponent(id)}/log?offset=${logOffset}`);
    if (id !== chosen) return;
    if (text) element("log").append(text);
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
      const bytes = new TextEncoder().encode(name);
      const key = btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
      const item = document.createElement("li");
      item.append(made("a", name, { href: `view/${key}/` }));
      return item;
    }),
  );
}

listDatasets().catch(complain);
if (chosen) choose(chosen).catch(complain);
look();
