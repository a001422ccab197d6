"""The page's head and foot: who ran, when, what was asked, and what is known of the record's integrity."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from eqty_lineage.deepagents.reading.view.escape import html

_WORDS: Final = {
    "ok": ("Unchanged since it was signed", "good"),
    "ok with limits": ("Nothing found changed, but not everything could be checked", "fair"),
    "withheld": ("Unchanged; contents were withheld and not checked", "fair"),
    "subset of a sealed run": ("A part of a run: unchanged, but not all of it", "fair"),
    "failed": ("Verification failed", "bad"),
}
_NO_EVIDENCE: Final = (
    "This page is no evidence: anyone can edit an HTML file. What counts is the manifest, and a verification of it."
)


def bar(model: dict[str, Any]) -> str:
    """Return the bar that stays in sight."""
    word, tone = ("not verified", "none")
    if model["verdict"]:
        word = model["verdict"]["verdict"]
        tone = _WORDS.get(word, ("", "bad"))[1]
    links = "".join(f'<a href="#{name}">{name.capitalize()}</a>' for name in ("lanes", "files", "plan", "steps"))
    return (
        '<a class="skip" href="#main">Skip to content</a>'
        f'<nav id="bar" aria-label="Page"><a class="name" href="#main">{html(_name(model), 40)}</a>'
        f'<a class="badge {tone}" href="#verdict">{html(word)}</a><span class="links">{links}</span>'
        '<span class="tools"><label class="unseen" for="search">Search steps</label>'
        '<input id="search" type="search" placeholder="Search steps  ( / )" autocomplete="off" spellcheck="false">'
        '<button id="theme" type="button" aria-label="Light or dark">◐</button></span></nav>'
    )


def header(model: dict[str, Any]) -> str:
    """Return the head: the agent, the question, the counts, the verdict and the gaps."""
    head = model["head"]
    roots = head["roots"]
    first = roots[0] if roots else {}
    when = " · ".join(html(part) for part in (_when(model), _made(head)) if part)
    asked = "".join(
        f'<blockquote class="asked"><span class="who">Asked</span>{html(root["question"], 600)}</blockquote>'
        for root in roots[:3]
        if root.get("question")
    )
    if len(roots) > 3:  # noqa: PLR2004 - more than a head has room for
        asked += f'<p class="note">and {len(roots) - 3} more runs in this manifest.</p>'
    status = first.get("status", "")
    ended = f'<span class="chip {"bad" if status == "error" else "fair"}">ended: {html(status)}</span>'
    return (
        f'<header id="head"><p class="over">Recorded run{"s" if len(roots) > 1 else ""}</p>'
        f"<h1><bdi>{html(_name(model), 120)}</bdi> {ended if status in {'error', 'interrupted'} else ''}</h1>"
        f'<p class="when">{when}</p>{asked}{_counts(model)}{_verdict(model)}{_gaps(model)}</header>'
    )


def footer(model: dict[str, Any]) -> str:
    """Return the foot: what the page was made from."""
    head = model["head"]
    lines = [
        f"Made from the manifest with SHA-256 <code>{html(head['manifest'])}</code> ({head['statements']} statements).",
        html(_NO_EVIDENCE),
        "Keys: <kbd>j</kbd> <kbd>k</kbd> next and previous step, <kbd>/</kbd> search, <kbd>Esc</kbd> close.",
    ]
    if not model["content"]:
        lines.insert(0, f"<strong>Made without contents.</strong> {_WITHOUT}")
    return "<footer>" + "".join(f"<p>{line}</p>" for line in lines) + "</footer>"


_WITHOUT: Final = (
    "Prompts, answers, arguments, outputs, bytes, plans' texts and questions were left out; names, paths, CIDs and "
    "times were not. A CID is a hash of its content: who guesses a content can confirm the guess by it."
)


def _name(model: dict[str, Any]) -> str:
    roots = model["head"]["roots"]
    names = list(dict.fromkeys(root["name"] for root in roots if root.get("name")))
    if not names:
        names = [lane["agent"] for lane in model["lanes"][:1] if lane.get("agent")]
    return ", ".join(names[:3]) + (" …" if len(names) > 3 else "") if names else "Run"  # noqa: PLR2004


def _when(model: dict[str, Any]) -> str:
    roots = model["head"]["roots"]
    start = next((root["started"] for root in roots if root.get("started")), "")
    end = next((root["ended"] for root in reversed(roots) if root.get("ended")), "")
    if not start and model["steps"]:
        start = model["steps"][0].get("at", "")
    start, end = _short(start), _short(end)
    return f"{start} to {end[11:] if end[:10] == start[:10] else end}" if end and start else start or end


def _short(time: str) -> str:
    """Leave out the fraction of a second: ``2026-11-30T12:25:55.123456+00:00`` is ``2026-11-30 12:25:55 UTC``."""
    text = time.replace("T", " ", 1)
    zone = " UTC" if text.endswith(("Z", "+00:00")) else ""
    return text[:19] + zone if zone else text


def _made(head: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in head["versions"].items())
    return ", ".join(part for part in (versions or head["framework"], head["recorder"]) if part)


def _counts(model: dict[str, Any]) -> str:
    kinds = Counter(step["k"] for step in model["steps"])
    agents = len({lane.get("agent", "") for lane in model["lanes"]})
    counts = [
        (agents, "agent", "agents"),
        (kinds["turn"], "model turn", "model turns"),
        (kinds["tool"], "tool call", "tool calls"),
        (len(model["files"]), "file", "files"),
        (len(model["plans"]), "plan revision", "plan revisions"),
        (len(model["gaps"]), "gap", "gaps"),
    ]
    head = model["head"]
    cells = "".join(f"<li><b>{count:,}</b> {one if count == 1 else many}</li>" for count, one, many in counts)
    return (
        f'<ul class="counts">{cells}</ul><p class="note">{len(model["steps"]):,} steps shown. They stand for '
        f"{head['computations'] - head['hidden']:,} of {head['computations']:,} computations; {head['hidden']:,} are "
        f"framework plumbing and hidden (the list of steps can show them).</p>"
    )


def _verdict(model: dict[str, Any]) -> str:
    said = model["verdict"]
    if not said:
        return (
            '<div id="verdict" class="verdict none"><h2>Not verified</h2><p>The page shows what the manifest says. '
            "Neither contents nor signatures were checked; signers are claimed. "
            f"Check it with <code>eqty-lineage verify</code>.</p><p>{_NO_EVIDENCE}</p></div>"
        )
    words, tone = _WORDS.get(said["verdict"], (said["verdict"], "bad"))
    tallies = "".join(
        f"<li><b>{tally['passed']:,}/{tally['total']:,}</b> {html(tally['check'])}</li>" for tally in said["tallies"]
    )
    return (
        f'<div id="verdict" class="verdict {tone}"><h2>{html(words)}</h2><ul class="tallies">{tallies}</ul>'
        f"{_list('Faults', [_fault(fault) for fault in said['faults']])}{_list('Limits', said['limits'])}"
        f"<dl><dt>Checked</dt><dd>{html(_short(said['checked_at']))} by {html(said['tool'])}</dd>"
        f"<dt>Manifest</dt><dd>SHA-256 <code>{html(said['manifest_sha256'])}</code></dd>"
        f"<dt>Signed by</dt><dd>{_keys(said['signers'], 'no valid signature')}</dd>"
        f"<dt>Allowed</dt><dd>{_keys(said['pinned'], 'no signer was pinned: any key was')}</dd></dl>"
        f"{_list('Does not prove', said['does_not_prove'])}<p>{_NO_EVIDENCE}</p></div>"
    )


def _fault(fault: dict[str, str]) -> str:
    return " ".join(part for part in (f"{fault['check']}: {fault['code']}.", fault["message"], fault["where"]) if part)


def _list(title: str, items: list[str], most: int = 50) -> str:
    if not items:
        return ""
    shown = "".join(f"<li>{html(item, 600)}</li>" for item in items[:most])
    more = f"<li>and {len(items) - most} more</li>" if len(items) > most else ""
    opened = "" if title == "Does not prove" else " open"
    return f"<details{opened}><summary>{title} ({len(items)})</summary><ul>{shown}{more}</ul></details>"


def _keys(keys: list[str], none: str) -> str:
    return ", ".join(f"<code>{html(key)}</code>" for key in keys) or none


def _gaps(model: dict[str, Any]) -> str:
    gaps = [": ".join(part for part in (what, reason) if part) for reason, what, _ in model["gaps"]]
    return _list("Gaps: what could not be recorded", gaps) + _list("How it was read", model["head"]["notes"])
