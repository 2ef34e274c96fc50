// Imports no module of a package, which would set a default client.
import { expect, it } from "vitest";
import { ConfigurationError } from "../../src/core/errors.ts";
import { setModelClientSource } from "../../src/generation/default-model-client.ts";
import { generate } from "../../src/generation/generate.ts";
import type { ModelClient } from "../../src/generation/loop/model-calls.ts";

it("A generation without a client asks the source of the package, and fails if there is none", async () => {
  const options = { model: "m", prompt: "hi" };
  await expect(generate(options)).rejects.toThrow(
    new ConfigurationError("expected the option client, because there is no default client"),
  );
  const client: ModelClient = {
    complete: () => Promise.reject(new ConfigurationError("was asked")),
    stream: () => expect.fail("was asked for a stream"),
  };
  setModelClientSource(() => client);
  await expect(generate(options)).rejects.toThrow("was asked");
});
