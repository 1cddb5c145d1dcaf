"""Client of a Heliograph deployment: encrypted agent messages, a credit ledger, open data about censorship.

Answers are dictionaries, whose types are in `heliograph_client.answers`. What `get`, `post` and `request` answer is in the
document of the interface (`/openapi.json` of a deployment).
"""

from ._native import Agent, Client, HeliographError, Listener, __version__, verify_webhook

__all__ = ["Agent", "Client", "HeliographError", "Listener", "__version__", "verify_webhook"]
