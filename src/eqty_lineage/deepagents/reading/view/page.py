"""The page, put together: what stands in the file before any script runs, and the rules a browser must keep.

Everything a manifest holds was written by models and users. It gets into the file in two ways alone: as escaped text
(:func:`~.escape.html`), and as JSON in a script element that is not executed (:func:`~.escape.script`). The page's own
script puts it on the screen as text. A browser runs and loads nothing but the one script and the one stylesheet whose
hashes stand in the page's policy.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from eqty_lineage.deepagents.reading.errors import ReadingError
from eqty_lineage.deepagents.reading.verification.report import Report
from eqty_lineage.deepagents.reading.view import data, header, layout
from eqty_lineage.deepagents.reading.view.escape import html, script

if TYPE_CHECKING:
    from eqty_lineage.deepagents.reading.run import Run


def page(run: Run, *, report: Report | None = None, content: bool = True) -> str:
    """Return a run as one HTML page that needs no server and no network.

    Args:
        run: The run.
        report: What a verification of this very manifest said; without it the page says that nothing was verified.
        content: Whether the page holds what was said and written. ``False`` leaves out prompts, answers, arguments,
            outputs, files' bytes, plans' texts and questions, to share the shape of a run: the names of agents, tools,
            models, files and lanes, CIDs, numbers and times stay. A CID is a hash: who guesses a content can confirm
            the guess by it.

    Returns:
        HTML; equal for an equal run, report and version of this package.

    Raises:
        ReadingError: The manifest has not the form that manifests have, or the report is of another manifest.

    """
    model = data.model(run, report, content=content)
    if report is not None and report.manifest != model["head"]["manifest"]:
        raise ReadingError("the report is of another manifest")
    style, code = _static("view.css"), _static("view.js")
    allowed = ("default-src 'none'", f"style-src '{_hash(style)}'", f"script-src '{_hash(code)}'")
    policy = "; ".join([*allowed, "base-uri 'none'", "form-action 'none'"])
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{html(_title(model), 120)}</title>",
            f"<style>{style}</style>\n</head>\n<body>",
            header.bar(model),
            '<div id="frame"><main id="main">',
            header.header(model),
            _lanes(run),
            _SECTIONS,
            header.footer(model),
            "</main>",
            '<aside id="drawer" aria-label="Step" tabindex="-1" hidden></aside></div>',
            '<div id="said" class="unseen" role="status" aria-live="polite"></div>',
            f'<script type="application/json" id="run">{script(model)}</script>',
            f"<script>{code}</script>\n</body>\n</html>\n",
        ]
    )


_SECTIONS = """<section id="files" aria-labelledby="files-title"><h2 id="files-title">Files</h2>
<div id="files-body"></div></section>
<section id="plan" aria-labelledby="plan-title"><h2 id="plan-title">Plan</h2><div id="plan-body"></div></section>
<section id="steps" aria-labelledby="steps-title"><h2 id="steps-title">Steps</h2><div id="steps-body"></div></section>
<noscript><p class="note">The files, the plan, the list of steps and their details need JavaScript. It is part of this
file, and loads nothing.</p></noscript>"""


def _title(model: dict[str, Any]) -> str:
    roots = model["head"]["roots"]
    name = roots[0].get("name", "") if roots else ""
    return f"{name or 'run'} — lineage"


def _lanes(run: Run) -> str:
    drawing = layout.draw(run)
    more = f'<p class="note">{drawing.left_out} more files have no rail here; all are listed below.</p>'
    return (
        '<section id="lanes" aria-labelledby="lanes-title"><h2 id="lanes-title">Lanes</h2>'
        '<p class="legend"><span class="key turn">1</span> model turn <span class="key tool">tool</span> tool call '
        '<svg width="26" height="10"><path class="use wrote" d="M1 5H25"/></svg> wrote '
        '<svg width="26" height="10"><path class="use read" d="M1 5H25"/></svg> read '
        '<svg width="12" height="12"><circle class="mark" cx="6" cy="6" r="4.5"/></svg> has a mark '
        "<span>order, not duration</span></p>"
        '<div class="drawing" tabindex="0" role="group" aria-label="Steps by agent, files below">'
        f'{drawing.names}<div class="segs">{"".join(drawing.segments)}</div></div>'
        f"{more if drawing.left_out else ''}</section>"
    )


def _static(name: str) -> str:
    return files(__package__).joinpath("static", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
