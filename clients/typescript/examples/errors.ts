import { AbortError, Client, RateLimitError, RequestTimeoutError, userMessage } from "outrigger-client";

await using client = new Client();
const messages = [userMessage("Say hello.")];

try {
  await client.complete({ model: "sim-text:status=429,retry_after=2", messages });
} catch (error) {
  if (!(error instanceof RateLimitError)) throw error;
  console.log(`rate limit of ${error.provider}: retry after ${error.retryAfter} s`);
}

const slow = { model: "sim-long:rate=1", messages };
const late = client.complete(slow, { signal: AbortSignal.timeout(100) });
await late.catch((error) => console.log(error instanceof RequestTimeoutError ? "timed out" : error));

const controller = new AbortController();
setTimeout(() => controller.abort(), 100);
const cancelled = client.complete(slow, { signal: controller.signal });
await cancelled.catch((error) => console.log(error instanceof AbortError ? "cancelled" : error));
