// A page that works without this: it loads itself again after a change, and insides of effects where they are opened.
(() => {
  "use strict";
  let stream = null, busy = false, again = false;
  const region = () => document.getElementById("live");
  const note = (text, lost = true) => {
    const place = document.getElementById("live-note");
    place.textContent = text;
    place.classList.toggle("lost", lost);
  };
  const load = async (address) => {
    const answer = await fetch(address, { credentials: "same-origin", redirect: "error" });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    return answer.ok ? page : null;
  };
  // Nodes stay where they can, so that what is open, typed, selected or focused stays too.
  const change = (old, wanted) => {
    if (old.nodeType === 3) {
      if (old.data !== wanted.data) old.data = wanted.data;
      return;
    }
    if (old.nodeType !== 1 || old.dataset.kept) return;
    for (const { name } of [...old.attributes]) {
      if (name !== "open" && !wanted.hasAttribute(name)) old.removeAttribute(name);
    }
    for (const { name, value } of [...wanted.attributes]) {
      if (name !== "open" && old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    // A part is known by its id, or by the heading that names it: parts come and go before others.
    const name = (one) => one.id || (one.getAttribute && one.getAttribute("aria-labelledby")) || "";
    const named = new Map([...old.children].filter(name).map((one) => [name(one), one]));
    let at = old.firstChild;
    for (const one of [...wanted.childNodes]) {
      const known = name(one) ? named.get(name(one)) : at && !name(at) && at.nodeName === one.nodeName ? at : null;
      if (!known) {
        old.insertBefore(document.importNode(one, true), at);
        continue;
      }
      if (known === at) at = at.nextSibling;
      else old.insertBefore(known, at);
      change(known, one);
    }
    while (at) {
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
  };
  const stop = () => {
    if (stream) stream.close();
    stream = null;
  };
  const refresh = async () => {
    again = busy;
    if (busy) return;
    busy = true;
    try {
      const page = await load(location.href);
      const fresh = page && page.getElementById("live");
      if (fresh) {
        change(region(), fresh);
        document.title = page.title;
      } else {
        note("This is no longer there, or this browser is no longer admitted: load the page again.");
        stop();
      }
      if (fresh && !fresh.dataset.events) stop();
    } catch {
      note("The connection is lost: load the page again.");
    }
    busy = false;
    if (again) refresh();
  };
  const follow = () => {
    const source = region() && region().dataset.events;
    if (document.visibilityState !== "visible" || !source) return stop();
    if (stream) return undefined;
    stream = new EventSource(source);
    stream.addEventListener("open", () => note("Live", false));
    stream.addEventListener("changed", refresh);
    stream.addEventListener("full", () => {
      stop();
      note("Too many pages are open for this one to follow changes: load it again.");
    });
    stream.addEventListener("error", () => note("The connection is lost; it is tried again."));
    return undefined;
  };
  document.addEventListener("visibilitychange", follow);
  document.addEventListener("toggle", async (event) => {
    const opened = event.target, source = opened.dataset && opened.dataset.effect;
    const inside = source && opened.querySelector(":scope > .inside");
    if (!inside) return;
    delete inside.dataset.kept;
    if (!opened.open) return;
    try {
      const page = await load(source);
      const found = page && page.getElementById("inside");
      if (!found) return;
      inside.replaceChildren(...found.childNodes);
      inside.dataset.kept = "yes";
    } catch {
      note("The connection is lost: load the page again.");
    }
  }, true);
  follow();
})();
