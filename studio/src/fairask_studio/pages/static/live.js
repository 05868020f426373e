// Follow the study: ask now and then whether anything has happened, and say so once.
import { get } from "./api.js";
import { alertUser } from "./dom.js";

// `changed` gets the status; it is called when something has happened since the last time. A page that is
// looked at asks every `seconds`; a server that is away is said, and asked again.
export function follow(changed, seconds = 2) {
  let etag = null;
  let away = false;
  const look = async () => {
    try {
      const status = document.hidden ? { unchanged: true } : await get("/status", etag ? { "If-None-Match": etag } : {});
      if (away) alertUser(null);
      away = false;
      if (!status.unchanged) {
        await changed(status, etag === null);
        ({ etag } = status); // not before: what failed is tried again
      }
    } catch (error) {
      away = true;
      alertUser(error.message);
    }
    setTimeout(look, 1000 * seconds);
  };
  look();
}
