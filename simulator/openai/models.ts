import { modelInPath } from "../named-model.ts";
import type { ModelCall, ReceivedRequest, WholeAnswer, WireFormat } from "../wire-format.ts";
import { authenticate } from "./authenticate.ts";
import { rejectAsOpenAI } from "./failure.ts";
import { openaiHeaders } from "./headers.ts";
import { rejectingProblems } from "./problem.ts";
import { checkMethod } from "./receive.ts";

const path = "/v1/models";

/** OpenAI's list of models, `GET /v1/models`, and its entries. @param names The models in the list. */
export function createOpenAIModels(names: readonly string[]): WireFormat {
  return {
    name: "openai-models",
    endpoints: [`GET ${path}`, `GET ${path}/{model}`],
    matches: (request) => request.path === path || namedIn(request) !== undefined,
    getModel: (request) => namedIn(request) ?? "",
    read: (request) => rejectingProblems(request, () => read(request, names)),
    reject: rejectAsOpenAI,
  };
}

function namedIn(request: ReceivedRequest): string | undefined {
  return modelInPath(request, `${path}/`);
}

function read(request: ReceivedRequest, names: readonly string[]): ModelCall | WholeAnswer {
  authenticate(request.headers);
  checkMethod(request, "GET");
  const model = namedIn(request);
  if (model === undefined) return answer(request, { object: "list", data: names.map(describeModel) });
  return { model, prepare: () => answer(request, describeModel(model)) };
}

function describeModel(id: string): object {
  return { id, object: "model", created: 1_767_225_600, owned_by: "simulator" };
}

function answer(request: ReceivedRequest, body: object): WholeAnswer {
  const headers = openaiHeaders(request, { contentType: "application/json", inputTokens: 0 });
  return { status: 200, headers, body: JSON.stringify(body) };
}
