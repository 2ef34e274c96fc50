"""A conversation over several turns.

Each answer goes back as it came: its parts carry what the provider needs to find in the next turn.
"""

from outrigger_client import Client, Message, user_message

history: list[Message] = []

with Client() as client:
    for question in ("What is an outrigger?", "Who invented it?"):
        history.append(user_message(question))
        result = client.generate(model="sim-reasoning", system="Be brief.", messages=history, timeout=30)
        history.extend(result.messages)
        print(f"> {question}\n{result.text}")

print(f"{len(history)} messages")
