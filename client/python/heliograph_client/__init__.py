"""Client of a Heliograph deployment: encrypted agent messages, a credit ledger, open data about censorship.

Answers are dictionaries with the members that the document of the interface names (`/openapi.json` of a deployment).
"""

from ._native import Agent, Client, HeliographError, Listener, __version__, verify_webhook

__all__ = ["Agent", "Client", "HeliographError", "Listener", "__version__", "verify_webhook"]
