"""The chart of a benchmark: how long each workload takes under each way of recording, as a small SVG."""

from __future__ import annotations

from typing import Any

COLOURS = {"bare": "#8a8f98", "base": "#c2703d", "inline": "#c9a227", "background": "#2f6f8f"}
LABELS = {
    "bare": "no handler",
    "base": "EqtyCallbackHandler, inline",
    "inline": "EqtyDeepAgentsHandler, inline",
    "background": "EqtyDeepAgentsHandler, background",
}
WIDTH, BAR, GAP, LEFT = 760, 13, 16, 150


def draw(table: dict[tuple[str, str], dict[str, Any]], variants: tuple[str, ...]) -> str:
    """Return the chart. Bars are wall seconds, each workload on a scale of its own; the dark part is before the end."""
    workloads = list(dict.fromkeys(workload for workload, _ in table))
    height = 60 + len(workloads) * (len(variants) * BAR + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"',
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        '<text x="10" y="18" font-size="13" fill="#222">Seconds a run takes, all of it stored</text>',
    ]
    x = 10
    for variant in variants:
        parts.append(f'<rect x="{x}" y="28" width="10" height="10" fill="{COLOURS[variant]}"/>')
        parts.append(f'<text x="{x + 14}" y="37" fill="#222">{LABELS[variant]}</text>')
        x += 30 + 6 * len(LABELS[variant])
    y = 52
    for workload in workloads:
        longest = max(table[workload, variant]["wall"] for variant in variants)
        middle = y + len(variants) * BAR / 2 + 4
        parts.append(f'<text x="{LEFT - 8}" y="{middle}" text-anchor="end" fill="#222">{workload}</text>')
        for variant in variants:
            row = table[workload, variant]
            scale = (WIDTH - LEFT - 70) / longest
            box = f'x="{LEFT}" y="{y}" height="{BAR - 2}" fill="{COLOURS[variant]}"'
            whole, before = row["wall"] * scale, row["wall_until_end"] * scale
            parts.append(f'<rect {box} width="{whole:.1f}" opacity="0.45"/>')
            parts.append(f'<rect {box} width="{before:.1f}"/>')
            parts.append(f'<text x="{LEFT + whole + 5:.1f}" y="{y + BAR - 3}" fill="#222">{row["wall"]:.2f}</text>')
            y += BAR
        y += GAP
    return "\n".join([*parts, "</svg>"]) + "\n"
