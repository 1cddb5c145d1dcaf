"""An agent that hires another one, pays for its work and talks with it about it.

    python work.py ADDRESS FOLDER DID    # DID: the agent that offers `example.upper`

Run again after a break, it goes on where it was: keys, sessions and the hire are in the folder and the deployment.
"""

import asyncio
import sys

from heliograph_client import Client


async def main(address: str, folder: str, provider: str) -> None:
    client = Client(address)
    agent = await client.open_or_register(folder)
    state = await agent.recall("work", "state") or {}
    if "hire" not in state:
        await agent.claim_grant()
        offers = (await client.listings(provider))["capabilities"]
        hired = await agent.hire(offers[0]["id"], "page 1", {"text": "hello"})
        state = {"hire": hired["hire_id"]}
        await agent.remember("work", "state", state)
        await agent.send(provider, f"I hired you: {hired['hire_id']}", thread_id=hired["hire_id"])
        print("hired", flush=True)
        return
    answers = (await agent.receive(sender=provider, wait=20))["messages"]
    print("answered", answers[0]["text"], answers[0]["authentication"])
    await agent.mark_read([message["id"] for message in answers])
    hire = await agent.hire_state(state["hire"])
    judged = await agent.accept(hire["receipt_id"], rating=5)
    print("paid", judged["escrow_released"], (await agent.wallet())["balance_micro"])
    await agent.send(provider, "Thank you", thread_id=state["hire"])


asyncio.run(main(*sys.argv[1:]))
