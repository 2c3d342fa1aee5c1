// The list of tasks: names those with changes that this browser has not been able to send yet.

try {
  for (const key of Object.keys(localStorage)) {
    const task = /^medassay:([0-9a-f]{8,64}):/.exec(key)?.[1];
    const state = task && document.querySelector(`.tasks a[href^="/tasks/${task}"] .state`);
    if (!state || state.dataset.unsent) continue;
    state.dataset.unsent = "yes";
    const note = document.createElement("span");
    note.className = "note unsent";
    note.textContent = "not saved yet: open it to send what you did";
    state.before(note);
  }
} catch { /* storage is switched off: nothing can be waiting in it */ }
