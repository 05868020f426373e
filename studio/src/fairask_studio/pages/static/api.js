// The API as functions. Every failure is an ApiError with words for people, and why: "refused" by the studio; "away":
// the studio was not reached, or something between it and the browser answered; "signed out"; or the page is "stale".

export const root = document.querySelector('meta[name="root"]').content;
const csrf = document.querySelector('meta[name="csrf"]').content;

export class ApiError extends Error {
  constructor(status, words, why) {
    super(words);
    this.status = status;
    this.why = why;
  }
}

// Whether a reply since the last call of this left out what happened last: slow questions are answered now and then.
let late = false;
export function wasLate() {
  const found = late;
  late = false;
  return found;
}

// Milliseconds for which an answer is awaited: a connection that is gone says nothing. Owners ask what takes minutes.
const LONGEST = document.body.classList.contains("view-label") ? 20_000 : 150_000;

export async function call(method, path, body, headers = {}) {
  let response, data;
  try {
    response = await fetch(`${root}/api${path}`, {
      method,
      headers: { "X-CSRF-Token": csrf, ...(body === undefined || body instanceof Blob ? {} : { "Content-Type": "application/json" }), ...headers },
      body: body === undefined || body instanceof Blob ? body : JSON.stringify(body), // a file goes as it is
      signal: body instanceof Blob ? undefined : AbortSignal.timeout(LONGEST),
    });
    if (response.status === 304) return { unchanged: true };
    late ||= response.headers.has("x-late");
    data = await response.json().catch((error) => { if (response.ok) throw error; return {}; });
  } catch {
    throw new ApiError(0, "The server cannot be reached.", "away");
  }
  if (response.status === 401 && path !== "/session") {
    dispatchEvent(new Event("signedout"));
    location.assign(`${root}/signin?ended`);
    throw new ApiError(401, "Signed out.", "signed out");
  }
  if (!response.ok) {
    const why = response.headers.get("x-page") ?? (response.status >= 500 || data.detail === undefined ? "away" : "refused");
    throw new ApiError(response.status, data.detail ?? `The server answered ${response.status}.`, why);
  }
  return method === "GET" && !Array.isArray(data) && response.headers.get("etag") ? { ...data, etag: response.headers.get("etag") } : data;
}

export const get = (path, headers) => call("GET", path, undefined, headers);
export const post = (path, body) => call("POST", path, body);
export const put = (path, body) => call("PUT", path, body);
export const remove = (path) => call("DELETE", path);
