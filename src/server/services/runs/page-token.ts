import { withFieldPaths } from "../../../client/field-paths.ts";
import { toSdkError } from "../../../core/errors.ts";

/** Names a field as callers know it: the engine's `after` is `page_token`, the id of the last element of the page before. */
export async function withPageToken<Page>(page: Promise<Page>): Promise<Page> {
  try {
    return await page;
  } catch (thrown) {
    throw withFieldPaths(toSdkError(thrown), (field) => (field === "after" ? "page_token" : field));
  }
}
