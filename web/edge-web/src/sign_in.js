// A link from another site comes without the session, which is SameSite=Strict. Who has one is led on from here, once.
"use strict";
const on = document.getElementById("on");
const last = Number(sessionStorage.getItem("led-on") || 0);
if (on && Date.now() - last > 10000) {
  fetch("/sign-in", { headers: { accept: "application/json" } }).then((answer) => {
    if (answer.status !== 204) return;
    sessionStorage.setItem("led-on", String(Date.now()));
    location.replace(on.href);
  }).catch(() => {});
}
