"""One question, one answer."""

from outrigger_client import Client, Request, text_of, user_message

with Client() as client:
    request = Request(model="sim-text", messages=[user_message("What is an outrigger?")])
    response = client.complete(request, timeout=30)

print(text_of(response))
print(f"{response.model}: {response.usage.input_tokens} + {response.usage.output_tokens} tokens")
