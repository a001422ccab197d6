"""One HTML page that shows a run: no server, no network, nothing in it is executed that the run's models wrote."""

from eqty_lineage.deepagents.reading.view.page import page

__all__ = ["page"]
