// Follow the study: ask now and then whether anything has happened, and say so once.
import { get, wasLate } from "./api.js";
import { alertUser } from "./dom.js";

// `changed` gets the status; it is called when something has happened since the last time. A page that is
// looked at asks every `seconds`; a server that is away is said, and asked again.
export function follow(changed, seconds = 2) {
  let etag = null;
  let away = false;
  let late = false;
  const look = async () => {
    try {
      late = wasLate() || late; // then all is asked for again, whether anything has happened or not
      const status = document.hidden ? { unchanged: true } : await get("/status", etag && !late ? { "If-None-Match": etag } : {});
      if (away) alertUser(null);
      away = false;
      if (!status.unchanged) {
        late = false;
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
