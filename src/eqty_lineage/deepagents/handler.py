"""``EqtyDeepAgentsHandler``: every callback of a deep agent's run, and how it is configured."""

from __future__ import annotations

from eqty_lineage.deepagents.chains import Chains
from eqty_lineage.deepagents.model_turns import ModelTurns
from eqty_lineage.deepagents.retrievals import Retrievals
from eqty_lineage.deepagents.tool_calls import ToolCalls


class EqtyDeepAgentsHandler(Chains, ModelTurns, ToolCalls, Retrievals):
    """Records a DeepAgents run as signed EQTY lineage. Pass it in ``config={"callbacks": [handler]}``.

    One handler per conversation: turns that follow each other share what is known of files and plan. Every
    ``thread_id`` is a conversation of its own.

    Args:
        verbose: Attach each callback's raw context to its assets, as ``EqtyCallbackHandler`` does.
        integrity_service_url: Register each run's context with this service when the run is stored.
        recording: ``"background"`` (default) stores statements on one thread of the process, ``"inline"`` in the
            callbacks. The environment variable ``EQTY_LINEAGE_RECORDING`` sets the default.
        wait: Whether the end of a root run waits until all of it is stored. ``False`` for servers: then ``context``,
            ``flush`` and ``aflush`` wait.
        flush_timeout: Seconds that wait may last; ``None``, the default, for as long as it takes. If it is over
            before all is stored, storing goes on, and the log and a gap say so.
        queue_size: Jobs (an asset or a computation each) that may wait to be stored before a callback has to.
        inline_messages: Store prompts and states with all their messages and long values in place, instead of
            references to where each is stored once.
        journal: ``True``, or a path: note every job on disk before its callback returns, so that
            :func:`~eqty_lineage.deepagents.recover` can store what a killed process had not.
        progress: Show a line on standard error while the end of a run waits longer than a second; by default where
            that is a terminal.
        content_policy: Glob patterns of the files whose bytes are withheld from the record, see
            :class:`eqty_lineage.deepagents.discretion.globs.Policy`; ``None`` for no files.
        identity: ``"content"`` (default) records the true CID of withheld bytes, ``"hidden"`` a number in its place,
            because a CID confirms a guess of a short secret.
        witness: Who can tell what files outside the agent's state hold: a backend of DeepAgents (anything with its
            ``download_files(paths)``), or a function from a path to its ``bytes``, or ``None`` where there is no such
            file. It must look at the files that the agent works on. It is asked in a thread of its own, with the
            context of the callback, before that returns, and other callbacks of this handler wait meanwhile. How much
            it answers is not limited; it is kept until the run ends.
        witness_timeout: Seconds that all it is asked in one callback may take. One that fails, is slower, or returns
            something else costs a gap, never the run; after the third time-out it is asked no more.

    Raises:
        ConfigurationError: No active signer, an unknown ``recording`` or ``identity``, a malformed ``content_policy``,
            ``journal=True`` where it cannot be told where the SDK's store is, a ``witness`` that cannot be asked (a
            class, something asynchronous), or a ``witness_timeout`` that is no positive number.

    """
