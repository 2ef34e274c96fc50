/** The errors for references that do not exist, in the words of OpenAI's API. */
import { InvalidRequestError, NotFoundError } from "../../core/errors.ts";

/** The previous response does not exist or belongs to another caller: an invalid request, as in OpenAI's API. */
export function previousNotFound(responseId: string): InvalidRequestError {
  const description = `Previous response with id '${responseId.slice(0, MAX_ID)}' not found.`;
  return new InvalidRequestError(description, {
    errorCode: "previous_response_not_found",
    violations: [{ field: "previous_response_id", description }],
  });
}

/** The conversation does not exist or belongs to another caller. */
export function conversationNotFound(conversationId: string): NotFoundError {
  const description = `Conversation with id '${conversationId.slice(0, MAX_ID)}' not found.`;
  return new NotFoundError(description, { violations: [{ field: "conversation", description }] });
}

/** The most characters of an id that an error repeats. */
const MAX_ID = 256;
