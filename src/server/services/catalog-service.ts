import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { Catalog as ModelCatalog } from "../../catalog/catalog.ts";
import { invalidField, NotFoundError, toSdkError } from "../../core/errors.ts";
import { boundedText } from "../../core/text.ts";
import {
  CatalogService,
  ListModelsResponseSchema,
  type ModelInfo,
} from "../../gen/outrigger/v1/catalog_service_pb.ts";
import { getServedCall } from "../calls/call-context.ts";
import { createService, type Service } from "../calls/service.ts";
import { toConnectError } from "../status/status.ts";

/** The lookups of the model catalog that CatalogService calls. */
export type Catalog = Pick<ModelCatalog, "getModelInfo" | "listModels" | "getLatestModel">;

/**
 * Creates CatalogService over the three lookups of a catalog.
 * @param client Its catalog may change. Each call uses the current one.
 */
export function createCatalogService(client: { readonly catalog: Catalog }): Service {
  return createService(CatalogService, {
    listModels: ({ provider, capabilities, pageSize, pageToken }, context) =>
      answer(context, () => {
        const models = client.catalog.listModels(provider || undefined, capabilities);
        return create(ListModelsResponseSchema, readPage(models, pageSize, pageToken));
      }),

    getModel: ({ model, provider }, context) =>
      answer(context, () => {
        requireText("model", model, "the id or alias of a model");
        const found = client.catalog.getModelInfo(model, provider || undefined);
        return requireModel(found, `model ${quoted(model)}`, provider);
      }),

    getLatestModel: ({ provider, capabilities }, context) =>
      answer(context, () => {
        requireText("provider", provider, "the name of a provider");
        const found = client.catalog.getLatestModel(provider, capabilities);
        return requireModel(found, "model with all of these capabilities", provider);
      }),
  });
}

/** Largest page, and the default size of a page. */
const MAX_PAGE_SIZE = 1000;

/**
 * Returns the models after the one that the token names. A token holds that model's provider and id, so that it stays
 * valid when the catalog grows.
 * @throws InvalidRequestError for a negative size or a token that no earlier response returned.
 */
function readPage(
  models: readonly ModelInfo[],
  pageSize: number,
  pageToken: string,
): { models: ModelInfo[]; nextPageToken: string } {
  if (pageSize < 0) throw invalidField("page_size", `expected 0 to ${MAX_PAGE_SIZE}, found ${pageSize}`);
  const start = pageToken === "" ? 0 : models.findIndex((model) => tokenAfter(model) === pageToken) + 1;
  if (pageToken !== "" && start === 0)
    throw invalidField(
      "page_token",
      "expected the next_page_token of an earlier response to the same request",
    );
  const size = Math.min(pageSize || MAX_PAGE_SIZE, MAX_PAGE_SIZE);
  const page = models.slice(start, start + size);
  const last = page.at(-1);
  const isWhole = start + size >= models.length;
  return { models: page, nextPageToken: isWhole || last === undefined ? "" : tokenAfter(last) };
}

function tokenAfter({ provider, id }: ModelInfo): string {
  return Buffer.from(`${provider}/${id}`).toString("base64url");
}

const MAX_QUOTE_BYTES = 128;

function answer<Output>(context: HandlerContext, look: () => Output): Output {
  try {
    return look();
  } catch (thrown) {
    const error = toSdkError(thrown);
    getServedCall(context).recorder.outcome = { error };
    throw toConnectError(error);
  }
}

function requireText(field: string, value: string, expected: string): void {
  if (value === "") throw invalidField(field, `is empty, expected ${expected}`);
}

function requireModel(found: ModelInfo | undefined, description: string, provider: string): ModelInfo {
  if (found !== undefined) return found;
  const where = provider === "" ? "" : ` of provider ${quoted(provider)}`;
  throw new NotFoundError(`the catalog has no ${description}${where}`);
}

function quoted(value: string): string {
  return `"${boundedText(value, MAX_QUOTE_BYTES)}"`;
}
