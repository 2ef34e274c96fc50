import { withFieldPaths } from "../../../client/field-paths.ts";
import { toSdkError } from "../../../core/errors.ts";

/**
 * Renames a field in errors to the name that callers know: the engine's `after` is `page_token`, the id of the last
 * element of the previous page.
 */
export async function withPageToken<Page>(page: Promise<Page>): Promise<Page> {
  try {
    return await page;
  } catch (thrown) {
    throw withFieldPaths(toSdkError(thrown), (field) => (field === "after" ? "page_token" : field));
  }
}
