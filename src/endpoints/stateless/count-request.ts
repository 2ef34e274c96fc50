/** Counts the tokens of a request of an API that stores nothing. */
import { withFieldPaths } from "../../client/field-paths.ts";
import { toTokenCount } from "../../client/token-count.ts";
import { toSdkError } from "../../core/errors.ts";
import { countTokens } from "../../generation/loop/model-calls.ts";
import type { EndpointRequest, EndpointResponse } from "../../http/endpoint.ts";
import { jsonResponse } from "../../http/json-response.ts";
import type { ReadRequest, StatelessParts } from "../answers/answer-request.ts";
import { restoreAnswers } from "../answers/restore-answers.ts";
import { toWarningsHeader } from "../openai/warnings-header.ts";

const ESTIMATE = { "outrigger-estimate": "true" };

/**
 * Returns the count of the provider, or an estimate, which a header marks. State that a call of the model would restore
 * is counted, too, since providers check the conversation as for a call.
 * @param write Returns the count in the form of the API.
 * @throws SDKError with the paths of the body.
 */
export async function countRequest(
  read: ReadRequest,
  { client, signal, caller }: EndpointRequest,
  { recentAnswers }: Pick<StatelessParts, "recentAnswers">,
  write: (inputTokens: number) => object,
): Promise<EndpointResponse> {
  try {
    const { request, form } = read;
    // The placeholder of a request that could not be translated has only the right size.
    const isPlaceholder = form?.untranslatable !== undefined;
    if (!isPlaceholder) await restoreAnswers(request.messages, recentAnswers.createSource(caller.name));
    const { inputTokens, estimated } = isPlaceholder
      ? toTokenCount(request, request, undefined)
      : await countTokens(client, request, { signal });
    const answer = jsonResponse(write(inputTokens));
    const headers = { ...toWarningsHeader(read.warnings), ...(estimated ? ESTIMATE : {}) };
    return { ...answer, headers: { ...answer.headers, ...headers } };
  } catch (thrown) {
    throw withFieldPaths(toSdkError(thrown), (field) => read.toBodyPath(field));
  }
}
