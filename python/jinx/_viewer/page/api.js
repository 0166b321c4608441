/** Asks the server. All addresses are relative, so that the page works behind any proxy. */

export class Problem extends Error {}

/**
 * @param {string} address
 * @param {{signal?: AbortSignal, method?: string, body?: string, headers?: Record<string, string>}} [how]
 */
export async function ask(address, how = {}) {
  let response;
  try {
    response = await fetch(address, how);
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new Problem("The viewer has ended. Run `jinx view` again.");
  }
  let answer;
  try {
    answer = await response.json();
  } catch (error) {
    // A request may also be given up while its answer comes.
    if (isAbort(error)) throw error;
    throw new Problem(`The server answered ${response.status}.`);
  }
  if (!response.ok) throw new Problem(answer.error ?? `The server answered ${response.status}.`);
  return answer;
}

/** @param {unknown} error */
export function isAbort(error) {
  return error instanceof Error && error.name === "AbortError";
}

/**
 * The address of a binary value.
 * @param {string} dataset
 * @param {number} sample
 * @param {(string | number)[]} path
 * @param {boolean} isSmall
 */
export function mediaAddress(dataset, sample, path, isSmall = false) {
  const asked = new URLSearchParams({ path: JSON.stringify(path) });
  if (isSmall) asked.set("small", "1");
  return `${dataset}/media/${sample}?${asked}`;
}
