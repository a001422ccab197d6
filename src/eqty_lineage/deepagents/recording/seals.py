"""What the last asset of a run holds: the ids of all its statements, so that a later removal shows."""

from __future__ import annotations

import json

from eqty_lineage.deepagents.facts import Asset, AssetId
from eqty_lineage.deepagents.recording import sdk


def seal_asset(statements: list[str], before: AssetId | None) -> Asset:
    """Return the asset that lists a root run's statements, its own excepted, and names the seal before it."""
    data = json.dumps({"statements": statements, "count": len(statements), "before": before}).encode()
    description = "The ids of every statement recorded for this run, but for those of this seal."
    fields = {"name": "run seal", "description": description, "assetType": "Document"}
    return Asset(sdk.cid_of(data), sdk.metadata_json(fields), data, "run seal")
