import { invalidField } from "../../core/errors.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";

/** Returns the texts of a conversation, one on each line. */
export function toPrompt({ messages }: Request): string {
  const texts = messages.flatMap(({ content }, message) =>
    content.map(({ part }, index) => {
      if (part.case === "text") return part.value;
      throw invalidField(`messages[${message}].content[${index}]`, "expected text");
    }),
  );
  return texts.join("\n");
}
