// Pages work without this. It follows changes, goes where links within a page lead without loading it again, and copies.
(() => {
  "use strict";
  let stream = null, wanted = null, busy = false, typing = 0;
  const region = () => document.getElementById("live");
  const note = (text, lost = true) => {
    const place = document.getElementById("live-note");
    place.textContent = text;
    place.classList.toggle("lost", lost);
  };
  // Nodes stay where they can, so that what is open, typed, selected or focused stays too.
  const change = (old, fresh) => {
    if (old.nodeType === 3 && old.data !== fresh.data) old.data = fresh.data;
    if (old.nodeType !== 1) return;
    for (const { name } of [...old.attributes]) {
      if (name !== "open" && !fresh.hasAttribute(name)) old.removeAttribute(name);
    }
    for (const { name, value } of [...fresh.attributes]) {
      if (name !== "open" && old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    // A part is known by its id, or by the heading that names it: parts come and go before others.
    const name = (one) => one.id || (one.getAttribute && one.getAttribute("aria-labelledby")) || "";
    const named = new Map([...old.children].filter(name).map((one) => [name(one), one]));
    let at = old.firstChild;
    for (const one of [...fresh.childNodes]) {
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
  // One address is loaded at a time, and of those wanted meanwhile the last.
  const show = async (address) => {
    wanted = address;
    if (busy) return;
    busy = true;
    while (wanted) {
      const asked = wanted;
      wanted = null;
      try {
        const answer = await fetch(asked, { credentials: "same-origin", redirect: "error" });
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const fresh = answer.ok && page.getElementById("live");
        if (fresh) {
          change(region(), fresh);
          document.title = page.title;
          if (fresh.dataset.again) wanted = wanted || asked;
        } else {
          note("This is no longer there, or this browser is no longer admitted: load the page again.");
        }
        if (!fresh || !fresh.dataset.events) stop();
      } catch {
        note("The connection is lost: load the page again.");
      }
    }
    busy = false;
    follow();
  };
  const refresh = () => region() && document.visibilityState === "visible" && show(location.href);
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
  const go = async (address, isNew) => {
    history[isNew ? "pushState" : "replaceState"](null, "", address);
    await show(address);
    const place = isNew && address.hash && document.getElementById(address.hash.slice(1));
    if (place && place.getBoundingClientRect().top > innerHeight - 80) place.scrollIntoView();
  };
  const filter = (form, isNew) => {
    const address = new URL(form.action);
    for (const [name, value] of new FormData(form)) if (value) address.searchParams.append(name, value);
    go(address, isNew);
  };
  const filters = (event) => event.target.closest && event.target.closest("form[role=search]");
  document.documentElement.classList.add("js");
  document.addEventListener("visibilitychange", follow);
  addEventListener("popstate", refresh);
  setInterval(refresh, 60_000);
  document.addEventListener("input", (event) => {
    const form = filters(event);
    clearTimeout(typing);
    if (form && region()) typing = setTimeout(filter, 150, form, false);
  });
  document.addEventListener("submit", (event) => {
    if (!filters(event) || !region()) return;
    event.preventDefault();
    filter(filters(event), true);
  });
  document.addEventListener("click", (event) => {
    const copied = event.target.closest("[data-copy]"), link = event.target.closest("#live a[href]");
    if (copied) navigator.clipboard.writeText(copied.dataset.copy).then(() => note("Copied", false));
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const address = new URL(link.getAttribute("href"), location.href);
    if (address.origin !== location.origin || address.pathname !== location.pathname) return;
    if (address.search === location.search && address.hash) return;
    event.preventDefault();
    go(address, true);
  });
  follow();
})();
