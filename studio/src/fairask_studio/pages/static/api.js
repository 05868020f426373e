// The API as functions. Every failure is an ApiError with words for people.

export const root = document.querySelector('meta[name="root"]').content;
const csrf = document.querySelector('meta[name="csrf"]').content;

export class ApiError extends Error {
  constructor(status, words) {
    super(words);
    this.status = status;
  }
}

export async function call(method, path, body, headers = {}) {
  let response;
  try {
    response = await fetch(`${root}/api${path}`, {
      method,
      headers: { "X-CSRF-Token": csrf, ...(body === undefined || body instanceof Blob ? {} : { "Content-Type": "application/json" }), ...headers },
      body: body === undefined || body instanceof Blob ? body : JSON.stringify(body), // a file goes as it is
    });
  } catch {
    throw new ApiError(0, "The server cannot be reached.");
  }
  if (response.status === 304) return { unchanged: true };
  const data = await response.json().catch(() => ({}));
  if (response.status === 401 && path !== "/session") {
    dispatchEvent(new Event("signedout"));
    location.assign(`${root}/signin`);
    throw new ApiError(401, "Signed out.");
  }
  if (!response.ok) throw new ApiError(response.status, data.detail ?? `The server answered ${response.status}.`);
  return method === "GET" && !Array.isArray(data) && response.headers.get("etag") ? { ...data, etag: response.headers.get("etag") } : data;
}

export const get = (path, headers) => call("GET", path, undefined, headers);
export const post = (path, body) => call("POST", path, body);
export const put = (path, body) => call("PUT", path, body);
export const remove = (path) => call("DELETE", path);
