/** The fields of a configuration that put middleware around calls. */
import * as z from "zod/mini";
import { fallbackKinds, MAX_FALLBACK_TARGETS } from "../middleware/fallback.ts";
import { compact, fields, list } from "./fields.ts";
import { oneOf, text } from "./leaves.ts";

const kindByWord = new Map(fallbackKinds.map((kind) => [kind.toLowerCase(), kind]));

/** Kinds of errors, in lower case in the file. */
const kinds = list(
  z.pipe(
    oneOf([...kindByWord.keys()]),
    z.transform((word) => kindByWord.get(word) ?? z.NEVER),
  ),
  "a list of kinds of errors",
);

const target = fields({ provider: z.optional(text), model: z.optional(text) }).check(
  z.refine(({ provider, model }) => provider !== undefined || model !== undefined, {
    error: "expected a provider, a model or both",
  }),
);

const targets = list(target, "a list of targets").check(
  z.maxLength(MAX_FALLBACK_TARGETS, { error: `expected at most ${MAX_FALLBACK_TARGETS} targets` }),
);

const modelAlias = z.pipe(
  fields({
    provider: z.optional(text),
    model: text,
    fallbacks: z.optional(targets),
    fallback_on: z.optional(kinds),
  }),
  z.transform(({ fallback_on, ...rest }) => compact({ ...rest, fallbackOn: fallback_on })),
);

const fallback = fields({
  provider: z.optional(text),
  model: z.optional(text),
  targets,
  on: z.optional(kinds),
});

/** Settings of all calls. */
export const middleware = z.pipe(
  fields({
    model_aliases: z.optional(
      z.record(z.string().check(z.minLength(1)), modelAlias, {
        error: "expected a mapping of model names to the models that they stand for",
      }),
    ),
    fallbacks: z.optional(list(fallback, "a list of fallbacks")),
  }),
  z.transform(({ model_aliases, fallbacks }) => ({
    modelAliases: model_aliases ?? {},
    fallbacks: fallbacks ?? [],
  })),
);
