"use strict";
// Shows the run that stands as JSON in this page. Everything in it is put on the screen as text, by textContent alone.
(() => {
  const run = JSON.parse(document.getElementById("run").textContent);
  const at = (id) => document.getElementById(id);
  // What the file says in short, in full again.
  const said = { sequence: 0 };
  for (const step of run.steps) {
    step.name = run.words[step.name];
    step.agent = step.agent === undefined ? (step.lane === undefined ? "" : run.lanes[step.lane].agent || "") : run.words[step.agent];
    step.st = step.st === undefined ? "ok" : step.st;
    if (step.e) step.e = (step.s || "").slice(0, step.e[0]) + step.e[1];
    step.at = step.at || step.s || "";
    for (const use of step.f || []) { use[2] = run.words[use[2]]; use[3] = run.words[use[3]]; }
    for (const p of step.p || []) {
      p[1] = run.words[p[1]]; p[2] = run.words[p[2]]; p[4] = p[4] || 0;
      if (p[3] !== null) p[3] = said.sequence += p[3];
    }
  }
  for (const c of run.cids) if (c.length > 1) c[1] = run.words[c[1]];
  const steps = new Map(run.steps.map((step) => [step.n, step]));
  const SHORT = 3000, ROW = 36, PRINTED = 3000;
  const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{d800}-\u{dfff}]|[\u{e0000}-\u{e007f}]/gu;

  // Elements -----------------------------------------------------------------------------------------------------
  const el = (tag, cls, ...inside) => {
    const made = document.createElement(tag);
    if (cls) made.className = cls;
    for (const one of inside.flat()) if (one !== null && one !== undefined && one !== "") made.append(typeof one === "number" ? String(one) : one);
    return made;
  };
  const link = (href, cls, ...inside) => { const a = el("a", cls, ...inside); a.setAttribute("href", href); return a; };
  const button = (text, action, cls) => { const b = el("button", cls || "quiet", text); b.type = "button"; b.addEventListener("click", action); return b; };
  // Text that models wrote: what cannot be seen, or turns the direction of text, is shown by its number.
  const safe = (text) => {
    const parts = []; let from = 0;
    for (const found of text.matchAll(UNSEEN)) {
      parts.push(text.slice(from, found.index), el("span", "ctl", "U+" + found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0")));
      from = found.index + found[0].length;
    }
    parts.push(text.slice(from));
    return el("bdi", "", parts);
  };
  const whole = (number) => { const t = run.texts[number]; return t === undefined ? "" : typeof t === "string" ? t : t.cut; };
  const line = (text, length) => text.length > length ? text.slice(0, length).replace(/\s+/g, " ") + "…" : text.replace(/\s+/g, " ");
  const block = (number, cls) => {
    const entry = run.texts[number], text = whole(number), pre = el("pre", cls || "text");
    if (text === "") { pre.append(el("span", "dim", "(empty)")); return pre; }
    const rest = () => typeof entry === "string" ? null : el("p", "note", `${(entry.of - text.length).toLocaleString()} more characters are in the manifest, not in this page.`);
    if (text.length <= SHORT * 1.2) { pre.append(safe(text)); return el("div", "", pre, rest()); }
    pre.append(safe(text.slice(0, SHORT)), el("span", "dim", " …"));
    const more = button(`Show all ${text.length.toLocaleString()} characters`, () => { pre.replaceChildren(safe(text)); more.replaceWith(rest() || ""); }, "more");
    return el("div", "", pre, more);
  };

  // Words --------------------------------------------------------------------------------------------------------
  const lane = (step) => run.lanes[step.lane];
  const agents = [...new Set(run.lanes.map((l) => l.agent || ""))];
  const colour = (agent) => "c" + (Math.max(agents.indexOf(agent || ""), 0) % 8);
  const kind = (step) => step.k === "turn" ? "turn " + (step.turn ?? "?") : step.name || step.k;
  const file = (number) => run.files[number];
  const fileHash = (f, order) => "#file-" + f.slug + (order ? "@" + order : "");
  const stepLink = (n, text) => link("#step-" + n, "ref", text || "#" + n);
  const version = (f, use) => f && f.versions.find((v) => v.cid === use[4] && v.v === (use[1] ? "v" + use[1] : v.v));
  const depths = new Map();
  const depth = (step) => {
    let n = 0, l = lane(step); const seen = new Set();
    if (step.lane !== undefined && depths.has(step.lane)) return depths.get(step.lane);
    while (l && l.within && n < 6 && !seen.has(l)) { seen.add(l); n += 1; const up = steps.get(l.within); l = up && lane(up); }
    depths.set(step.lane, n); return n;
  };
  const time = (text) => (text || "").replace("T", " ").replace(/\.\d+/, "").replace(/(\+00:00|Z)$/, " UTC");
  // A prompt is told by what it adds to the one before in its lane: [step, how many of its messages, first, count, ...].
  const prompt = (step) => {
    const chain = []; let now = step;
    while (now && now.q) { chain.push(now.q); now = now.q[0] && now.q[1] ? steps.get(now.q[0]) : null; }
    let all = [];
    for (const q of chain.reverse()) {
      all = all.slice(0, q[1]);
      for (let i = 2; i < q.length; i += 2) for (let j = 0; j < q[i + 1]; j += 1) all.push(q[i] + j);
    }
    return all;
  };
  // What a turn's prompt has that the lane's last one had not: only what stands in the step itself need be looked at.
  const news = (step) => {
    const own = [], q = step.q || [];
    for (let i = 2; i < q.length; i += 2) for (let j = 0; j < q[i + 1]; j += 1) own.push(q[i] + j);
    return own;
  };
  const summary = (step) => {
    if (step.k === "turn") {
      const told = (step.a || []).map((n) => run.messages[n]);
      const calls = told.flatMap((m) => (m.c || []).map((c) => c[0]));
      const said = told.map((m) => whole(m.t)).join(" ").trim();
      return (calls.length ? "→ " + calls.join(", ") : "") + (said ? (calls.length ? "  " : "") + "“" + line(said, 160) + "”" : "");
    }
    const parts = [];
    const signs = { wrote: "wrote ", read: "read ", removed: "removed ", present: "found " };
    for (const use of (step.f || [])) if (use[2] !== "replaced" && parts.length < 4) parts.push((signs[use[2]] || use[2] + " ") + (use[0] < 0 ? "?" : file(use[0]).path) + (use[1] ? " v" + use[1] : ""));
    if (step.plan) parts.push("plan r" + step.plan);
    if (!parts.length && step.args) parts.push(step.args.slice(0, 3).map((a) => line(whole(a[1]), 70)).join(" · "));
    return parts.join(", ");
  };

  // Search: names, agents, paths, and what a step added; a prompt's earlier messages are found where they were new.
  const hay = new Map();
  const searched = (step) => {
    let text = hay.get(step.n);
    if (text === undefined) {
      const parts = ["#" + step.n, step.name, step.agent, kind(step), step.st, ...(step.m || [])];
      for (const use of (step.f || [])) if (use[0] >= 0) parts.push(file(use[0]).path);
      for (const n of [...news(step), ...(step.a || [])]) {
        const m = run.messages[n];
        parts.push(whole(m.t)); for (const c of (m.c || [])) parts.push(c[0], whole(c[2]));
      }
      for (const a of (step.args || [])) parts.push(a[0], whole(a[1]));
      if (step.out) parts.push(whole(step.out[0]));
      text = parts.filter(Boolean).join("\n").toLowerCase(); hay.set(step.n, text);
    }
    return text;
  };

  // The list of steps: only the rows in sight are elements -------------------------------------------------------------
  const list = { rows: run.steps, words: [], only: "", agent: null, plumbing: false, chosen: null };
  const scroller = el("div", "rows"), tall = el("div", "tall"), told = el("span", "note");
  scroller.tabIndex = 0; scroller.id = "list";
  scroller.setAttribute("role", "listbox"); scroller.setAttribute("aria-label", "Steps");
  tall.setAttribute("role", "presentation"); scroller.append(tall);
  const row = (item, number) => {
    if (item.hidden) {
      const r = el("div", "row plumbing", el("span", "n", "·"), el("span", "who", safe(item.hidden[3] || "")), el("span", "what", safe(item.hidden[2] || item.hidden[1])), el("span", "sum", item.hidden[1] + ": hidden plumbing"));
      r.setAttribute("role", "option"); r.setAttribute("aria-selected", "false"); return r;
    }
    const marks = (item.m || []).map((m) => el("span", "chip " + (m === "error" ? "bad" : "fair"), m));
    const r = link("#step-" + item.n, "row d" + depth(item) + " " + colour(item.agent),
      el("span", "n", item.n), el("span", "who", el("i", "bead"), safe(item.agent || "")),
      el("span", "what " + (item.k === "turn" ? "turn" : "tool"), safe(kind(item))), el("span", "sum", safe(line(summary(item), 240)), " ", marks),
      el("span", "time", time(item.at).slice(11, 19)));
    r.tabIndex = -1; r.id = "row-" + item.n;
    r.setAttribute("role", "option"); r.setAttribute("aria-selected", String(item.n === list.chosen));
    r.setAttribute("aria-posinset", String(number + 1)); r.setAttribute("aria-setsize", String(list.rows.length));
    if (item.n === list.chosen) r.classList.add("sel");
    return r;
  };
  let drawn = "";
  const paint = (again) => {
    const first = Math.max(0, Math.floor(scroller.scrollTop / ROW) - 8);
    const last = Math.min(list.rows.length, Math.ceil((scroller.scrollTop + (scroller.clientHeight || 600)) / ROW) + 8);
    if (!again && drawn === first + "-" + last) return;
    drawn = first + "-" + last;
    const made = [];
    for (let i = first; i < last; i += 1) { const r = row(list.rows[i], i); r.style.top = i * ROW + "px"; made.push(r); }
    tall.style.height = list.rows.length * ROW + "px"; tall.replaceChildren(...made);
  };
  const filter = () => {
    const all = list.plumbing ? run.steps.concat(run.hidden.map((h) => ({ hidden: h }))) : run.steps;
    list.rows = all.filter((s) => {
      if (s.hidden) return list.words.every((w) => s.hidden.join("\n").toLowerCase().includes(w));
      if (list.only === "turn" && s.k !== "turn") return false;
      if (list.only === "tool" && s.k !== "tool") return false;
      if (list.only === "marked" && !s.m) return false;
      if (list.only === "files" && !s.f) return false;
      if (list.agent !== null && (s.agent || "") !== list.agent) return false;
      return !list.words.length || list.words.every((w) => searched(s).includes(w));
    });
    told.textContent = `${list.rows.length.toLocaleString()} of ${run.steps.length.toLocaleString()} steps` + (list.plumbing ? ` and ${run.hidden.length.toLocaleString()} hidden computations` : "");
    scroller.dataset.count = list.rows.length;
    at("said").textContent = told.textContent;
    scroller.style.height = Math.min(Math.max(list.rows.length, 2) * ROW + 2, Math.max(360, innerHeight * 0.72)) + "px";
    scroller.scrollTop = 0; paint(true);
  };
  const reveal = (n) => {
    const i = list.rows.findIndex((s) => s.n === n); if (i < 0) return;
    const top = i * ROW;
    if (top < scroller.scrollTop || top + ROW > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top - scroller.clientHeight / 2;
    scroller.setAttribute("aria-activedescendant", "row-" + n);
  };
  const stepsSection = () => {
    const filters = el("div", "filters"); filters.setAttribute("role", "group"); filters.setAttribute("aria-label", "Which steps");
    const press = (b, on) => b.setAttribute("aria-pressed", String(on));
    const kinds = [["", "All"], ["turn", "Turns"], ["tool", "Tool calls"], ["files", "Touched files"], ["marked", "Marked"]].map(([key, text]) => {
      const b = button(text, () => { list.only = key; kinds.forEach((k) => press(k, k === b)); filter(); }, "pill"); press(b, key === ""); return b;
    });
    filters.append(...kinds);
    if (agents.length > 1) {
      const select = el("select", "", el("option", "", "every agent"), agents.slice(0, 200).map((a) => { const o = el("option"); o.textContent = safe(a || "agent not recorded").textContent; return o; }));
      select.setAttribute("aria-label", "Agent");
      select.addEventListener("change", () => { list.agent = select.selectedIndex ? agents[select.selectedIndex - 1] : null; filter(); });
      filters.append(select);
    }
    if (run.hidden.length) {
      const b = button(`Show ${run.hidden.length.toLocaleString()} hidden`, () => { list.plumbing = !list.plumbing; press(b, list.plumbing); filter(); }, "pill"); press(b, false); filters.append(b);
    }
    filters.append(told); at("steps-body").append(filters, scroller);
    scroller.addEventListener("scroll", () => requestAnimationFrame(() => paint(false)), { passive: true });
    filter();
  };

  // Files ------------------------------------------------------------------------------------------------------------
  const shownFile = { number: 0, order: null, mode: "content" };
  const fileList = el("ul", "filelist"), fileView = el("div", "fileview");
  const lines = (text) => { const all = text.split("\n"); if (all.length > 1 && all[all.length - 1] === "") all.pop(); return all; };
  const LINES = 800;
  const table = (cls, all, make) => {
    const body = el("tbody"), holder = el("div", "code", el("table", cls, body));
    body.append(...all.slice(0, LINES).map(make));
    if (all.length > LINES) holder.append(button(`Show all ${all.length.toLocaleString()} lines`, (e) => { body.append(...all.slice(LINES).map((t, i) => make(t, i + LINES))); e.target.remove(); }, "more"));
    return holder;
  };
  const contentOf = (f, v) => {
    if (v.t === undefined) return el("p", "note", !run.content ? "Left out of this page." : v.held ? "Withheld by a content policy: not in the manifest." : "No text: binary, or its content is not in the manifest.");
    const cut = typeof run.texts[v.t] === "string" ? null : el("p", "note", "Cut: the rest is in the manifest.");
    return el("div", "", cut, table("plain", lines(whole(v.t)), (t, i) => el("tr", "", el("td", "no", i + 1), el("td", "src", safe(t)))));
  };
  const blameOf = (f) => {
    if (!f.b) return el("p", "note", !run.content ? "Left out of this page." : f.bn || "No lines to tell the origin of.");
    const all = lines(whole(f.bt)), origin = [];
    f.b.forEach((b, at) => { for (let i = 0; i < b[0]; i += 1) origin.push([b, i === 0, at % 2]); });
    return table("blame", all.slice(0, origin.length), (t, i) => {
      const [b, first, odd] = origin[i], v = f.versions.find((x) => x.o === b[1]);
      const who = el("td", "by", !first ? "" : [
        v ? link(fileHash(f, v.o), "ref", v.v) : el("span", "dim", "?"), " ",
        b[3] ? el("span", "agent " + colour(b[3]), el("i", "bead"), safe(b[3])) : el("span", "dim", v ? "not by a known step" : "unknown"), " ",
        b[2] ? stepLink(b[2]) : "", " ", b[5] ? link("#step-" + b[5], "ref dim", "turn " + (b[4] ?? "?")) : ""]);
      if (first && b[6]) { const note = el("span", "chip fair", "uncertain"); note.title = b[6]; who.append(" ", note); }
      return el("tr", (odd ? "odd" : "even") + (first ? " first" : ""), who, el("td", "no", i + 1), el("td", "src", safe(t)));
    });
  };
  const diffOf = (f, v) => {
    if (v.dn) return el("p", "note", safe(v.dn));
    if (v.d === undefined) return el("p", "note", !run.content ? "Left out of this page." : "The first version that is known: there is none to compare it with.");
    const text = whole(v.d);
    if (!text) return el("p", "note", "No difference.");
    return table("diff", text.split("\n").filter((t) => !/^(---|\+\+\+)( |$)/.test(t)), (t) => el("tr", t[0] === "+" ? "add" : t[0] === "-" ? "del" : t.startsWith("@@") ? "hunk" : "", el("td", "sign", t.startsWith("@@") ? "" : t[0] || " "), el("td", "src", safe(t.startsWith("@@") ? t : t.slice(1)))));
  };
  const useLinks = (word, all) => (all && all.length ? el("span", "use", word + " ", all.slice(0, 12).map((n) => [stepLink(n), " "]).flat(), all.length > 12 ? `and ${all.length - 12} more` : "") : null);
  const cid = (number) => {
    const c = run.cids[number]; if (!c) return el("span", "dim", "none");
    const code = el("code", "cid", safe(c[0])); code.title = "CID"; return code;
  };
  const paintFile = () => {
    const f = file(shownFile.number); if (!f) return;
    const v = f.versions.find((x) => x.o === shownFile.order) || f.versions.find((x) => x.o === f.last) || f.versions[f.versions.length - 1];
    fileList.querySelectorAll("a").forEach((a) => { if (a.dataset.f === String(shownFile.number)) a.setAttribute("aria-current", "true"); else a.removeAttribute("aria-current"); });
    const tabs = el("div", "tabs"); tabs.setAttribute("role", "tablist");
    for (const [mode, text] of [["content", "Content"], ["blame", "Blame"], ["diff", "Changes"]]) {
      const b = button(text, () => { shownFile.mode = mode; paintFile(); fileView.querySelector("[role=tab][aria-selected=true]").focus(); }, "tab");
      b.setAttribute("role", "tab"); b.setAttribute("aria-selected", String(mode === shownFile.mode)); tabs.append(b);
    }
    const pick = el("div", "versions", f.versions.map((x) => { const a = link(fileHash(f, x.o), "pill ver" + (x.ev === "rendering" || x.v === "edit" ? " unsure" : ""), x.v); if (x === v) a.setAttribute("aria-current", "true"); return a; }));
    pick.setAttribute("aria-label", "Versions"); pick.setAttribute("role", "group");
    const uses = v ? el("p", "uses", useLinks("written by", v.w), useLinks("read by", v.r), useLinks("replaced by", v.rep), useLinks("removed by", v.rem), v.w ? null : el("span", "use", "no step is known to have written it"), v.restores ? el("span", "use", `same bytes as v${v.restores}`) : null) : null;
    const facts = v ? el("p", "facts", v.size !== undefined ? `${v.size.toLocaleString()} bytes` : "size not known", v.ev ? `, known from ${v.ev}` : "", " ", cid(v.cid)) : null;
    const notes = [f.removed ? el("span", "chip fair", "removed") : null, v && v.ev === "rendering" ? el("span", "chip fair", "rendering, not bytes") : null, v && v.held ? el("span", "chip fair", "content withheld") : null, f.last === undefined && !f.removed ? el("span", "chip fair", "content at the end unknown") : null];
    const body = !v ? el("p", "note", "No version is known.") : shownFile.mode === "content" ? contentOf(f, v) : shownFile.mode === "diff" ? diffOf(f, v)
      : el("div", "", v.o === f.last ? null : el("p", "note", "Blame is of the last version."), blameOf(f));
    fileView.replaceChildren(el("h3", "", safe(f.path), " ", notes), pick, uses || "", facts || "", tabs, body);
  };
  const filesSection = () => {
    const body = at("files-body");
    if (!run.files.length) { body.append(el("p", "note", "No file was written or read, as far as is recorded.")); return; }
    const entry = (f, number) => { const a = link(fileHash(f), "", el("span", "p", safe(f.path)), el("span", "v", f.removed ? "removed" : f.versions.length > 1 ? f.versions.length + " versions" : "1 version")); a.dataset.f = number; return el("li", "", a); };
    fileList.append(...run.files.slice(0, 300).map(entry));
    if (run.files.length > 300) fileList.append(el("li", "", button(`Show all ${run.files.length.toLocaleString()} files`, (e) => { const li = e.target.parentNode; li.replaceWith(...run.files.slice(300).map((f, i) => entry(f, i + 300))); }, "more")));
    body.append(el("div", "split", el("nav", "", fileList), fileView));
    const many = run.files.reduce((best, f, i) => f.versions.length > run.files[best].versions.length ? i : best, 0);
    shownFile.number = many; paintFile();
  };

  // Plan -------------------------------------------------------------------------------------------------------------
  const planSection = () => {
    const body = at("plan-body");
    if (!run.plans.length) { body.append(el("p", "note", "No plan was written.")); return; }
    let now = run.plans.length - 1;
    const holder = el("div", "planview"), word = { completed: "done", in_progress: "in progress", pending: "pending" };
    const slider = el("div", "versions"); slider.setAttribute("role", "group"); slider.setAttribute("aria-label", "Revisions");
    const draw = () => {
      const plan = run.plans[now], before = run.plans.find((p) => p.n === plan.before), was = new Map();
      for (const item of ((before && before.items) || [])) was.set(item[1], item[0]);
      [...slider.children].forEach((b, i) => b.setAttribute("aria-pressed", String(i === now)));
      const item = (one) => {
        const text = one[1] === undefined ? el("span", "dim", "text left out") : safe(whole(one[1]));
        const old = was.get(one[1]);
        const change = !before || one[1] === undefined ? null : old === undefined ? "new" : old !== one[0] ? `was ${word[old] || old}` : null;
        const li = el("li", "item " + (word[one[0]] ? one[0] : "other"), el("i", "box"), el("span", "t", text), el("span", "state", safe(word[one[0]] || one[0])));
        if (change) li.append(el("span", "chip change", safe(change)));
        return li;
      };
      const gone = before && run.content ? before.items.filter((o) => !(plan.items || []).some((i) => i[1] === o[1])).map((o) => el("li", "item gone", el("i", "box"), el("span", "t", safe(whole(o[1]))), el("span", "chip change", "dropped"))) : [];
      holder.replaceChildren(
        el("p", "facts", `Revision ${plan.n}`, plan.agent ? [" by ", safe(plan.agent)] : "", plan.wrote ? [", ", stepLink(plan.wrote)] : ", given to the run", " ", plan.withheld ? el("span", "chip fair", "content withheld") : ""),
        el("ul", "items", (plan.items || []).map(item), gone));
    };
    slider.append(...run.plans.slice(0, 500).map((p, i) => button("r" + p.n, () => { now = i; draw(); }, "pill")));
    body.append(slider, holder); draw();
  };

  // The drawer ---------------------------------------------------------------------------------------------------------
  const drawer = at("drawer"); let opener = null;
  const part = (title, ...inside) => el("section", "part", el("h4", "", title), ...inside);
  const fold = (title, ...inside) => el("details", "", el("summary", "", title), ...inside);
  const message = (n) => {
    const m = run.messages[n];
    return el("article", "msg r-" + (["system", "human", "user", "ai", "assistant", "tool"].includes(m.r) ? m.r : "other"),
      el("div", "role", safe(m.r), m.n ? [" · ", safe(m.n)] : "", m.i ? el("code", "id", safe(m.i)) : ""),
      whole(m.t) === "" && m.c ? null : block(m.t),
      (m.c || []).map((c) => el("div", "call", el("div", "role", "calls ", el("b", "", safe(c[0])), el("code", "id", safe(c[1]))), block(c[2], "text json"))),
      m.o ? el("p", "note", "Not shown: ", safe(m.o.join(", ")), " block") : null);
  };
  const facts = (pairs) => el("dl", "", pairs.filter((p) => p && p[1] !== null && p[1] !== undefined && p[1] !== "").map(([k, v]) => [el("dt", "", k), el("dd", "", v)]).flat());
  const cidList = (all) => el("ul", "cids", all.map((n) => { const c = run.cids[n]; return el("li", "", el("span", "label", safe(c[1] || "not described"), c[3] ? el("span", "chip fair", "withheld") : ""), el("code", "cid", safe(c[0])), c[2] !== undefined && c[2] !== null ? el("span", "dim", `${c[2].toLocaleString()} bytes`) : el("span", "dim", "not in the manifest")); }));
  const signature = (step) => {
    const keys = [...new Set((step.p || []).map((p) => run.signers[p[4]]))].filter(Boolean), v = run.verdict;
    return keys.length ? keys.map((key) => {
      const good = v && v.verdict !== "failed" && v.signers.includes(key);
      return el("p", "", el("code", "cid", safe(key)), " ", el("span", "chip " + (good ? "good" : "fair"), good ? (v.pinned.includes(key) ? "verified, and a pinned signer" : "verified, signer not pinned") : v ? "claimed: not confirmed by the verification" : "claimed, not verified"));
    }) : el("p", "note", "No signer is named.");
  };
  const open = (step) => {
    const l = lane(step), marks = (step.m || []).map((m) => el("span", "chip " + (m === "error" ? "bad" : "fair"), m));
    const order = run.steps.indexOf(step), before = run.steps[order - 1], after = run.steps[order + 1];
    const head = el("div", "dhead", el("div", "nav",
      before ? link("#step-" + before.n, "quiet", "←") : el("span", "quiet off", "←"), after ? link("#step-" + after.n, "quiet", "→") : el("span", "quiet off", "→"),
      el("span", "over", `Step ${step.n} of ${run.steps.length.toLocaleString()}`), button("Close", close)),
    el("h3", "", el("span", "what " + (step.k === "turn" ? "turn" : "tool"), safe(kind(step))), " ", step.k === "turn" ? safe(step.name) : ""),
    el("p", "who " + colour(step.agent), el("i", "bead"), safe(step.agent || "agent not recorded"), l && l.key ? el("span", "dim", " lane ", el("code", "id", safe(l.key))) : "", l && l.how === "inferred" ? el("span", "chip fair", "lane inferred") : ""),
    marks.length ? el("p", "", marks) : null);
    head.querySelectorAll(".nav a").forEach((a, i) => a.setAttribute("aria-label", a.textContent === "←" ? "Previous step" : "Next step"));
    const inside = [head, facts([
      ["When", time(step.s) ? time(step.s) + (step.e ? " to " + time(step.e).slice(11) : "") : time(step.at)],
      ["Status", step.st || "not recorded"],
      ["Asked by", step.asked ? [stepLink(step.asked[0], `#${step.asked[0]}, turn ${(steps.get(step.asked[0]) || {}).turn ?? "?"}`), " ", el("span", "chip " + (step.asked[1] ? "fair" : "plain"), !step.asked[1] ? "stated" : "inferred from the call's id")] : null],
      ["Within", step.within ? stepLink(step.within) : null],
      ["Plan", step.plan ? link("#plan", "ref", "revision " + step.plan) : null],
      ["Call", step.call ? el("code", "id", safe(step.call)) : null]])];
    if (step.miss) inside.push(part("Could not be shown", el("ul", "", step.miss.map((m) => el("li", "", safe(m))))));
    if (step.f) inside.push(part("Files", el("ul", "uselist", step.f.map((use) => { const f = file(use[0]), v = version(f, use); return el("li", "", el("span", "rolew " + (use[2] === "wrote" ? "wrote" : "read"), safe(use[2])), f ? link(fileHash(f, v && v.o), "ref", safe(f.path), v ? " " + v.v : "") : "?", el("span", "dim", "known from ", safe(use[3]))); }))));
    if (step.args) inside.push(part("Arguments", step.args.map((a) => el("div", "arg", a[0] ? el("div", "role", safe(a[0])) : null, block(a[1], a[2] ? "text json" : "text")))));
    if (step.out) inside.push(part("Output", block(step.out[0], step.out[1] ? "text json" : "text")));
    if (step.a) inside.push(part("Answer", step.a.map(message)));
    if (step.q) {
      const all = prompt(step), last = step.q[0] ? steps.get(step.q[0]) : null, had = new Set(last && last.q ? prompt(last) : []);
      const old = all.filter((n) => had.has(n)), fresh = all.filter((n) => !had.has(n));
      const earlier = el("details", "earlier", el("summary", "", `${old.length} earlier message${old.length === 1 ? "" : "s"}, as in `, last ? stepLink(last.n) : ""));
      earlier.addEventListener("toggle", () => { if (earlier.open && earlier.children.length === 1) earlier.append(...old.map(message)); });
      inside.push(part(`Prompt: ${all.length} message${all.length === 1 ? "" : "s"}`, old.length ? earlier : null, fresh.map(message)));
    }
    if (!run.content) inside.push(el("p", "note", "Prompts, answers, arguments and outputs were left out of this page."));
    if (step.use) inside.push(part("Tokens", facts(Object.entries(step.use).map(([k, v]) => [safe(k), safe(typeof v === "object" ? JSON.stringify(v) : String(v))]))));
    if (step.mod) inside.push(fold("Model", block(step.mod[0], "text json")));
    if (step.src !== undefined) inside.push(fold("Source of the tool", block(step.src, "text json")));
    inside.push(part("Signature", signature(step)));
    inside.push(fold(`Computations (${(step.p || []).length})`, el("ul", "cids", (step.p || []).map((p) => el("li", "", el("span", "label", safe(p[1]), p[2] ? [" · ", safe(p[2])] : ""), el("code", "cid", safe(p[0])), p[3] !== null ? el("span", "dim", "sequence " + p[3]) : "")))));
    inside.push(fold(`Inputs (${(step.i || []).length})`, cidList(step.i || [])), fold(`Outputs (${(step.o || []).length})`, cidList(step.o || [])));
    drawer.replaceChildren(...inside.filter(Boolean)); drawer.hidden = false; drawer.scrollTop = 0;
    drawer.setAttribute("aria-label", `Step ${step.n}`); document.body.classList.add("open");
  };
  const close = () => {
    drawer.hidden = true; document.body.classList.remove("open"); choose(null);
    if (location.hash.startsWith("#step-")) history.pushState(null, "", "#steps");
    if (opener && opener.isConnected) opener.focus({ preventScroll: true }); opener = null;
  };
  const choose = (n) => {
    list.chosen = n;
    document.querySelectorAll("a.s.sel, path.sel").forEach((e) => e.classList.remove("sel"));
    if (n !== null) {
      const mark = document.querySelector(`a.s[href="#step-${n}"]`);
      if (mark) {
        mark.classList.add("sel");
        document.querySelectorAll(`.segs path[data-s="${n}"]`).forEach((e) => e.classList.add("sel"));
        const box = document.querySelector(".drawing"), r = mark.getBoundingClientRect(), b = box.getBoundingClientRect();
        if (r.left < b.left + 190 || r.right > b.right - 20) box.scrollLeft += r.left - b.left - b.width / 2;
      }
      reveal(n);
    }
    paint(true);
  };

  // Links --------------------------------------------------------------------------------------------------------------
  const slugs = new Map(run.files.map((f, i) => [f.slug, i]));
  const route = (first) => {
    const hash = location.hash, found = /^#step-(\d+)$/.exec(hash);
    if (found && steps.has(Number(found[1]))) {
      const n = Number(found[1]);
      if (drawer.hidden) opener = document.activeElement === document.body ? scroller : document.activeElement;
      open(steps.get(n)); choose(n);
      at("said").textContent = `Step ${n}: ${kind(steps.get(n))}`;
      return;
    }
    if (!drawer.hidden) { drawer.hidden = true; document.body.classList.remove("open"); choose(null); }
    if (hash.startsWith("#file-")) {
      const [, slug, order] = /^#file-(.*?)(?:@(\d+))?$/s.exec(hash) || [];
      let number = slugs.get(slug);
      if (number === undefined) { try { number = slugs.get(encodeURI(decodeURIComponent(slug))); } catch { number = undefined; } }
      if (number !== undefined) {
        shownFile.number = number; shownFile.order = order ? Number(order) : null; paintFile();
        at("files").scrollIntoView({ block: "start" });
      }
    } else if (first && hash.length > 1) { const target = at(hash.slice(1)); if (target) target.scrollIntoView(); }
  };
  const move = (by) => {
    const rows = list.rows.filter((r) => !r.hidden); if (!rows.length) return;
    const now = rows.findIndex((s) => s.n === list.chosen), next = rows[Math.min(rows.length - 1, Math.max(0, now < 0 ? (by > 0 ? 0 : rows.length - 1) : now + by))];
    location.hash = "#step-" + next.n;
  };
  const search = at("search");
  let waiting = 0;
  search.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(() => {
    list.words = search.value.toLowerCase().split(/\s+/).filter(Boolean); filter();
    if (list.words.length && at("steps").getBoundingClientRect().top > innerHeight * 0.7) at("steps").scrollIntoView({ block: "start" });
  }, 120); });
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const typing = /^(input|select|textarea)$/i.test(e.target.tagName);
    if (e.key === "Escape") { if (typing && search.value) { search.value = ""; list.words = []; filter(); } else if (!drawer.hidden) close(); else if (typing) e.target.blur(); return; }
    if (typing) { if (e.target === search && (e.key === "Enter" || e.key === "ArrowDown")) { e.preventDefault(); scroller.focus(); move(1); } return; }
    const inList = document.activeElement === scroller || (document.activeElement && document.activeElement.closest && document.activeElement.closest("#list"));
    if (e.key === "/") { e.preventDefault(); search.focus(); search.select(); }
    else if (e.key === "j" || (inList && e.key === "ArrowDown")) { e.preventDefault(); move(1); }
    else if (e.key === "k" || (inList && e.key === "ArrowUp")) { e.preventDefault(); move(-1); }
    else if (inList && e.key === "Home") { e.preventDefault(); move(-1e9); }
    else if (inList && e.key === "End") { e.preventDefault(); move(1e9); }
    else if (inList && e.key === "Enter" && list.chosen !== null) { drawer.focus(); }
  });
  at("theme").addEventListener("click", () => {
    const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  addEventListener("hashchange", () => route(false));
  addEventListener("popstate", () => { if (!location.hash.startsWith("#step-") && !drawer.hidden) route(false); });
  addEventListener("resize", () => paint(true));
  // On paper all steps are rows.
  addEventListener("beforeprint", () => { document.body.classList.add("paper"); tall.replaceChildren(...list.rows.slice(0, PRINTED).map(row)); if (list.rows.length > PRINTED) tall.append(el("p", "note", `and ${list.rows.length - PRINTED} more`)); tall.style.height = scroller.style.height = "auto"; });
  addEventListener("afterprint", () => { document.body.classList.remove("paper"); filter(); });

  // The list of steps is where the keyboard goes: a thousand drawn steps are no thousand stops.
  document.querySelectorAll(".drawing a.s").forEach((a) => { a.tabIndex = -1; });
  document.querySelector(".drawing").addEventListener("pointerover", (e) => {
    const a = e.target.closest("a.s"); if (!a || a.dataset.told) return;
    const step = steps.get(Number(a.getAttribute("href").slice(6))), title = document.createElementNS(a.namespaceURI, "title");
    title.textContent = `#${step.n} ${safe(kind(step)).textContent} of ${safe(step.agent || "?").textContent}${(step.m || []).map((m) => "; " + m).join("")}`;
    a.dataset.told = "1"; a.prepend(title);
  });
  filesSection(); planSection(); stepsSection(); route(true);
  document.documentElement.dataset.ready = "true";
})();
