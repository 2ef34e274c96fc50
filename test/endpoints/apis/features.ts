/** Features that requests of the four HTTP APIs may ask for, each in the form of its API. */

/** An HTTP API of the sidecar. */
export type ApiName = "responses" | "chat" | "messages" | "gemini";

type Body = Readonly<Record<string, unknown>>;

/** A feature: the fields that a request has more, by the API. An API without it is not mentioned. */
export interface Feature {
  readonly name: string;
  readonly fields: Readonly<Partial<Record<ApiName, Body>>>;
  /** The feature that a request must have for this one to make a difference. */
  readonly needs?: Feature["fields"];
}

/** A PNG of one pixel, in base64. */
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** An empty PDF, in base64. */
const DOCUMENT = Buffer.from(
  "%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF",
).toString("base64");

const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};

const TOOL = { name: "get_weather", description: "The weather.", parameters: SCHEMA };

/** The tool in the form of each API. */
const TOOLS = {
  responses: [{ type: "function", ...TOOL, strict: false }],
  chat: [{ type: "function", function: TOOL }],
  messages: [{ name: TOOL.name, description: TOOL.description, input_schema: SCHEMA }],
  gemini: [{ functionDeclarations: [{ ...TOOL, parameters: undefined, parametersJsonSchema: SCHEMA }] }],
} as const;

const question = "How is the weather?";

/** The requests without any feature. @param model In the path for Gemini. */
export function createBody(api: ApiName, model: string): Body {
  switch (api) {
    case "responses":
      return { model, input: question, store: false };
    case "chat":
      return { model, messages: [{ role: "user", content: question }] };
    case "messages":
      return { model, max_tokens: 4000, messages: [{ role: "user", content: question }] };
    case "gemini":
      return { contents: [{ role: "user", parts: [{ text: question }] }] };
  }
}

/** The path of a request. */
export function getPath(api: ApiName, model: string): string {
  switch (api) {
    case "responses":
      return "/v1/responses";
    case "chat":
      return "/v1/chat/completions";
    case "messages":
      return "/v1/messages";
    case "gemini":
      return `/v1beta/models/${model}:generateContent`;
  }
}

/** The path of a request for a stream. */
export function getStreamPath(api: ApiName, model: string): string {
  return api === "gemini" ? `/v1beta/models/${model}:streamGenerateContent?alt=sse` : getPath(api, model);
}

/** A setting of one name in several APIs. */
function setting(name: string, value: unknown, ...apis: readonly Exclude<ApiName, "gemini">[]) {
  return Object.fromEntries(apis.map((api) => [api, { [name]: value }]));
}

const config = (fields: Body) => ({ generationConfig: fields });

/** The features, in the order of the table. */
export const FEATURES: readonly Feature[] = [
  {
    name: "instructions",
    fields: {
      responses: { instructions: "Be brief." },
      chat: {
        messages: [
          { role: "system", content: "Be brief." },
          { role: "user", content: question },
        ],
      },
      messages: { system: "Be brief." },
      gemini: { systemInstruction: { parts: [{ text: "Be brief." }] } },
    },
  },
  {
    name: "images",
    fields: {
      responses: {
        input: [
          {
            role: "user",
            content: [{ type: "input_image", image_url: `data:image/png;base64,${PIXEL}`, detail: "auto" }],
          },
        ],
      },
      chat: {
        messages: [
          {
            role: "user",
            content: [{ type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}` } }],
          },
        ],
      },
      messages: {
        messages: [
          {
            role: "user",
            content: [{ type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } }],
          },
        ],
      },
      gemini: {
        contents: [{ role: "user", parts: [{ inlineData: { mimeType: "image/png", data: PIXEL } }] }],
      },
    },
  },
  {
    name: "documents",
    fields: {
      responses: {
        input: [
          {
            role: "user",
            content: [
              {
                type: "input_file",
                filename: "a.pdf",
                file_data: `data:application/pdf;base64,${DOCUMENT}`,
              },
            ],
          },
        ],
      },
      chat: {
        messages: [
          {
            role: "user",
            content: [
              {
                type: "file",
                file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${DOCUMENT}` },
              },
            ],
          },
        ],
      },
      messages: {
        messages: [
          {
            role: "user",
            content: [
              {
                type: "document",
                source: { type: "base64", media_type: "application/pdf", data: DOCUMENT },
              },
            ],
          },
        ],
      },
      gemini: {
        contents: [
          { role: "user", parts: [{ inlineData: { mimeType: "application/pdf", data: DOCUMENT } }] },
        ],
      },
    },
  },
  {
    name: "tools",
    fields: {
      responses: { tools: TOOLS.responses },
      chat: { tools: TOOLS.chat },
      messages: { tools: TOOLS.messages },
      gemini: { tools: TOOLS.gemini },
    },
  },
  {
    name: "a forced tool",
    fields: {
      responses: { tools: TOOLS.responses, tool_choice: { type: "function", name: TOOL.name } },
      chat: { tools: TOOLS.chat, tool_choice: { type: "function", function: { name: TOOL.name } } },
      messages: { tools: TOOLS.messages, tool_choice: { type: "tool", name: TOOL.name } },
      gemini: {
        tools: TOOLS.gemini,
        toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: [TOOL.name] } },
      },
    },
  },
  {
    name: "one call at a time",
    fields: {
      responses: { tools: TOOLS.responses, parallel_tool_calls: false },
      chat: { tools: TOOLS.chat, parallel_tool_calls: false },
      messages: { tools: TOOLS.messages, tool_choice: { type: "auto", disable_parallel_tool_use: true } },
    },
    needs: {
      responses: { tools: TOOLS.responses },
      chat: { tools: TOOLS.chat },
      messages: { tools: TOOLS.messages },
    },
  },
  {
    name: "structured output",
    fields: {
      responses: { text: { format: { type: "json_schema", name: "place", schema: SCHEMA, strict: true } } },
      chat: {
        response_format: {
          type: "json_schema",
          json_schema: { name: "place", schema: SCHEMA, strict: true },
        },
      },
      messages: { output_config: { format: { type: "json_schema", schema: SCHEMA } } },
      gemini: config({ responseMimeType: "application/json", responseJsonSchema: SCHEMA }),
    },
  },
  {
    name: "effort of the reasoning",
    fields: {
      responses: { reasoning: { effort: "high" } },
      chat: { reasoning_effort: "high" },
      messages: { output_config: { effort: "high" } },
      gemini: config({ thinkingConfig: { thinkingLevel: "HIGH" } }),
    },
  },
  {
    name: "limit on the output",
    fields: {
      responses: { max_output_tokens: 2000 },
      chat: { max_completion_tokens: 2000 },
      messages: { max_tokens: 2000 },
      gemini: config({ maxOutputTokens: 2000 }),
    },
  },
  {
    name: "stop sequences",
    fields: {
      chat: { stop: ["END"] },
      messages: { stop_sequences: ["END"] },
      gemini: config({ stopSequences: ["END"] }),
    },
  },
  {
    name: "temperature",
    fields: {
      ...setting("temperature", 0.5, "chat", "messages"),
      responses: { temperature: 0.5, store: true },
      gemini: config({ temperature: 0.5 }),
    },
    // A request without it would be relayed to OpenAI, in another form.
    needs: { responses: { store: true } },
  },
  { name: "`top_k`", fields: { ...setting("top_k", 5, "messages"), gemini: config({ topK: 5 }) } },
  { name: "`seed`", fields: { ...setting("seed", 7, "chat"), gemini: config({ seed: 7 }) } },
  {
    name: "log probabilities",
    fields: {
      responses: { include: ["message.output_text.logprobs"], top_logprobs: 2 },
      chat: { logprobs: true, top_logprobs: 2 },
      gemini: config({ responseLogprobs: true, logprobs: 2 }),
    },
  },
  { name: "`logit_bias`", fields: setting("logit_bias", { "50256": -100 }, "chat") },
  {
    name: "several answers",
    fields: { chat: { n: 2 }, gemini: config({ candidateCount: 2 }) },
  },
  {
    name: "service tier",
    fields: setting("service_tier", "flex", "responses", "chat"),
  },
  {
    name: "safety settings",
    fields: {
      gemini: {
        safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_ONLY_HIGH" }],
      },
    },
  },
];
