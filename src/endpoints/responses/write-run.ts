/** The response object of a stored run. */
import type { Run } from "../../gen/outrigger/v1/run_pb.ts";
import { answerMessageId, isRepeated } from "../../runs/messages.ts";
import type { ResponseSettings } from "./settings.ts";
import { ItemWriter } from "./write-items.ts";
import { ResponseWriter } from "./write-response.ts";

/**
 * Returns the response object of a run with its steps, as JSON text: the same object as in the last event of its
 * stream. Runs with tools that the sidecar executes are read from their events instead, which have the order of the
 * calls.
 */
export function writeRun(run: Run, settings: ResponseSettings): string {
  const writer = new ResponseWriter(run, settings);
  const items = new ItemWriter(settings);
  const responses = run.steps.flatMap(({ response }) => response ?? []);
  const written = responses.flatMap((response, index) =>
    items.answer(answerMessageId(run.id, index + 1, isRepeated(run.attempts, index + 1)), response),
  );
  return writer.write(run, {
    model: responses.at(-1)?.model ?? "",
    items: written.map((item) => JSON.stringify(item)),
    warnings: responses.flatMap(({ warnings }) => warnings),
  });
}
