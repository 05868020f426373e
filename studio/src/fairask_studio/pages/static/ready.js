// Runs after the page's script: forms that need it can be used from now on.
for (const form of document.querySelectorAll("form[inert]")) form.inert = false;
