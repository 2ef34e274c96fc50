import { Client, finishReasonOf, type Middleware, SDKError, textOf, userMessage } from "outrigger";

const logCalls: Middleware = async (request, next) => {
  const startedAt = performance.now();
  try {
    const response = await next({ ...request, maxTokens: request.maxTokens ?? 1000 });
    const milliseconds = Math.round(performance.now() - startedAt);
    console.error(`${response.model}: ${finishReasonOf(response)} after ${milliseconds} ms`);
    return response;
  } catch (error) {
    if (error instanceof SDKError) console.error(`${request.model}: ${error.kindName}`);
    throw error;
  }
};

const client = Client.fromEnv(process.env, { middleware: [logCalls] });
const request = { model: "gpt-5.2", messages: [userMessage("Hello")] };
console.log(textOf(await client.complete(request)));
for await (const text of client.stream(request).text()) process.stdout.write(text);
await client.close();
