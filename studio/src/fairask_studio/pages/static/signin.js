import { post, root } from "./api.js";
import { $ } from "./dom.js";

$("signin").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    await post("/session", { token: $("token").value.trim() });
    location.assign(`${root}/`);
  } catch (error) {
    $("refused").textContent = error.message;
    $("token").select();
  }
});
