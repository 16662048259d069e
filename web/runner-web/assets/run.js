// Times in the reader's zone, and the live log of a run. Text is only ever set as text.
for (const time of document.querySelectorAll("time[data-ms]")) {
  const date = new Date(Number(time.dataset.ms));
  time.dateTime = date.toISOString();
  time.textContent = date.toLocaleString();
}
const log = document.getElementById("log");
if (log) {
  const source = new EventSource(`/runs/${log.dataset.run}/log?follow=1`);
  source.onmessage = (message) => {
    const line = JSON.parse(message.data);
    if (line.kind === "endgroup") return;
    const row = document.createElement("div");
    row.className = `line-${line.kind}`;
    const job = line.job ? `${line.job}: ` : "";
    row.textContent = job + line.text.replace(/\u001b\[[0-9;]*[A-Za-z]/g, "");
    const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 20;
    log.append(row);
    if (atEnd) log.scrollTop = log.scrollHeight;
  };
  source.addEventListener("end", () => {
    source.close();
    // The steps above changed while the log was followed.
    if (log.dataset.ended === "false") location.reload();
  });
}
