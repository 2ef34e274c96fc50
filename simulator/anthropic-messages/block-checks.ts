import { type ContentBlockParam, IMAGE_MEDIA_TYPES } from "../../src/wire/anthropic-messages/request.ts";
import {
  anything,
  array,
  boolean,
  type Check,
  dictionary,
  type Fields,
  literal,
  nullable,
  object,
  openObject,
  required,
  string,
  stringOrArray,
  tagged,
} from "./check.ts";

/** Checks `cache_control`. */
export const cacheControl: Check = nullable(
  tagged({ ephemeral: object({ type: anything, ttl: nullable(literal(["5m", "1h"])) }) }),
);

const toolId = string({ pattern: /^[a-zA-Z0-9_-]+$/ });

/** A block that may carry `cache_control`. */
function cacheable(fields: Fields): Check {
  return object({ type: anything, cache_control: cacheControl, ...fields });
}

/** A text in the instructions, in a tool's result or in a document. */
const text = cacheable({ text: required(string()), citations: anything });

/** Checks a block of `system`. */
export const systemBlock: Check = tagged({ text });

const mediaSources: Readonly<Record<string, Check>> = {
  url: object({ type: anything, url: required(string({ minimum: 1 })) }),
  file: object({ type: anything, file_id: required(string({ minimum: 1 })) }),
};

const image = cacheable({
  source: required(
    tagged({
      base64: object({
        type: anything,
        media_type: required(literal(IMAGE_MEDIA_TYPES)),
        data: required(string({ minimum: 1 })),
      }),
      ...mediaSources,
    }),
  ),
});

const document = cacheable({
  source: required(
    tagged({
      base64: object({
        type: anything,
        media_type: required(literal(["application/pdf"])),
        data: required(string({ minimum: 1 })),
      }),
      text: object({
        type: anything,
        media_type: required(literal(["text/plain"])),
        data: required(string({ minimum: 1 })),
      }),
      content: object({ type: anything, content: required(stringOrArray(tagged({ text, image }))) }),
      ...mediaSources,
    }),
  ),
  title: nullable(string()),
  context: nullable(string()),
  citations: nullable(object({ enabled: boolean })),
});

const searchResult = cacheable({
  source: required(string()),
  title: required(string()),
  content: required(array(tagged({ text }))),
  citations: anything,
});

/** Blocks of users and of tools. */
const inputBlocks: Readonly<Record<string, Check>> = { text, image, document, search_result: searchResult };

/** Blocks that the simulator reads, whose fields are checked. */
const checkedBlocks: Readonly<Record<string, Check>> = {
  ...inputBlocks,
  thinking: object({ type: anything, thinking: required(string()), signature: required(string()) }),
  redacted_thinking: object({ type: anything, data: required(string()) }),
  tool_use: cacheable({
    id: required(toolId),
    name: required(string({ minimum: 1, maximum: 200 })),
    input: required(dictionary),
    caller: anything,
    toolset_name: nullable(string()),
  }),
  tool_result: cacheable({
    tool_use_id: required(toolId),
    content: nullable(stringOrArray(tagged({ ...inputBlocks, tool_reference: openObject() }))),
    is_error: nullable(boolean),
  }),
  server_tool_use: cacheable({
    id: required(string({ pattern: /^srvtoolu_[a-zA-Z0-9_]+$/ })),
    name: required(string({ minimum: 1 })),
    input: required(dictionary),
    caller: anything,
  }),
  web_search_tool_result: cacheable({
    tool_use_id: required(string({ pattern: /^srvtoolu_[a-zA-Z0-9_]+$/ })),
    content: required(anything),
    caller: anything,
  }),
};

/** Blocks of hosted tools and of features in beta, whose fields are not checked. */
const uncheckedBlocks: readonly ContentBlockParam["type"][] = [
  "web_fetch_tool_result",
  "code_execution_tool_result",
  "bash_code_execution_tool_result",
  "text_editor_code_execution_tool_result",
  "tool_search_tool_result",
  "container_upload",
  "mcp_tool_use",
  "mcp_tool_result",
  "mcp_tool_listing",
  "advisor_tool_result",
  "compaction",
  "fallback",
  "tool_addition",
  "tool_removal",
];

/** Checks a block of a message. Which blocks a role may use is checked elsewhere. */
export const messageBlock: Check = tagged({
  ...checkedBlocks,
  ...Object.fromEntries(uncheckedBlocks.map((type) => [type, openObject()])),
});
