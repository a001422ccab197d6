"""Measure one workload under one way of recording, in this process, and print the figures as one JSON line.

The SDK is process-wide, so every measurement is a process of its own; ``bench.py`` runs them in alternation.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("LANGSMITH_TRACING", "false")

from eqty_sdk import Context, Signer, init, set_active_signer
from workloads import WORKLOADS


def timed(handler: Any) -> tuple[list[float], dict[str, float]]:
    """Wrap a handler's callbacks so that the time inside each is noted; root ends apart."""
    inside: list[float] = []
    ends = {"root": 0.0, "began": 0.0}
    roots: list[Any] = []

    def wrap(name: str) -> None:
        method = getattr(handler, name)

        def callback(*args: Any, **kwargs: Any) -> Any:
            if name == "on_chain_start" and kwargs.get("parent_run_id") is None:
                roots.append(kwargs["run_id"])
            start = time.perf_counter()
            try:
                return method(*args, **kwargs)
            finally:
                spent = time.perf_counter() - start
                if name == "on_chain_end" and kwargs.get("run_id") in roots:
                    ends["root"], ends["began"] = spent, start
                else:
                    inside.append(spent)

        setattr(handler, name, callback)

    for kind in ("chain", "tool"):
        for event in ("start", "end", "error"):
            wrap(f"on_{kind}_{event}")
    wrap("on_chat_model_start")
    wrap("on_llm_end")
    return inside, ends


def handler_for(variant: str, witness: Any = None) -> Any:
    """Return the handler of a variant, or ``None`` for the bare run; ours asks the ``witness``, if there is one."""
    if variant == "bare":
        return None
    if variant == "base":
        from eqty_lineage.langchain import EqtyCallbackHandler

        return EqtyCallbackHandler()
    from eqty_lineage.deepagents import EqtyDeepAgentsHandler

    return EqtyDeepAgentsHandler(recording=variant, witness=witness)  # type: ignore[arg-type] # "inline" or "background"


def count_hashed() -> list[bytes]:
    """Return the list to which everything that the handler hashes from now on is added."""
    from eqty_lineage.deepagents.recording import sdk

    hashed: list[bytes] = []
    hash_ = sdk.get_cid_for_bytes

    def counted(data: bytes, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("_store", True) is False:
            hashed.append(data)
        return hash_(data, *args, **kwargs)

    sdk.get_cid_for_bytes = counted
    return hashed


def resident_mb() -> float:
    """Return the resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


def many_runs(handler: Any, runs: int = 300, first: int = 50) -> dict[str, Any]:
    """Return the resident memory after some and after many runs of one process, in MB."""
    figures: dict[str, Any] = {"workload": "e-300-runs"}
    for run in range(1, runs + 1):
        WORKLOADS["e-run"].run([handler])
        if run in {first, runs}:
            gc.collect()
            figures[f"rss_mb_run_{run}"] = resident_mb()
    return figures


def main() -> None:
    """Measure ``WORKLOAD VARIANT``, or the memory of many runs."""
    workload, variant = WORKLOADS[sys.argv[1]], sys.argv[2]
    logging.disable(logging.CRITICAL)
    store = Path(tempfile.mkdtemp(prefix="bench-"))
    context = Context.new("bench")
    init(default_context=context, custom_dir=store).set_store_all_blobs(True)
    set_active_signer(Signer.load_or_create("bench"))
    WORKLOADS["d-20-parallel"].run([])  # imports and caches are not what is measured
    if workload.name == "e-run":
        print(json.dumps(many_runs(handler_for(variant)) | {"variant": variant}))
        return
    hashed = count_hashed() if variant in {"inline", "background"} else []
    backend = workload.backend(Path(tempfile.mkdtemp(prefix="bench-")))
    handler = handler_for(variant, backend)
    inside, ends = timed(handler) if handler is not None else ([], {"root": 0.0, "began": 0.0})
    cpu, wall = time.process_time(), time.perf_counter()
    workload.run([handler] if handler is not None else [], backend)
    done = time.perf_counter()
    figures = {
        "workload": workload.name,
        "variant": variant,
        "wall": done - wall,
        "wall_until_end": (ends["began"] - wall) if ends["began"] else done - wall,
        "cpu": time.process_time() - cpu,
        "inside": sum(inside),
        "median_event": statistics.median(inside) if inside else 0.0,
        "p95_event": statistics.quantiles(inside, n=20)[-1] if len(inside) > 1 else 0.0,
        "root_end": ends["root"],
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "files_hashed": sum(1 for text in hashed if workload.holds(text)),
        "statements": 0,
        "blob_bytes": sum(path.stat().st_size for path in store.glob("**/blobs/*")),
    }
    if handler is not None:
        exported = store / "manifest.json"
        context.export(exported)
        figures["statements"] = len(json.loads(exported.read_bytes())["statements"])
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
