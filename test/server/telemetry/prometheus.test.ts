import { expect, it } from "vitest";
import { MetricSet } from "../../../src/server/telemetry/prometheus.ts";

it("keeps series apart whose label values are equal when joined", () => {
  const metrics = new MetricSet();
  const calls = metrics.counter("acme_calls_total", "Calls.", ["provider", "model"]);
  const seconds = metrics.histogram("acme_seconds", "Durations.", ["provider", "model"], [1]);
  const models = metrics.gauge("acme_models", "Models.", ["provider", "model"]);
  for (const values of [
    ["ab", "c"],
    ["a", "bc"],
    ["a", "bc"],
  ]) {
    calls.add(values);
    seconds.observe(values, 0.5);
    models.set(values, 1);
  }
  const text = metrics.render();
  expect(text).toContain('acme_calls_total{provider="ab",model="c"} 1\n');
  expect(text).toContain('acme_calls_total{provider="a",model="bc"} 2\n');
  expect(text).toContain('acme_seconds_count{provider="ab",model="c"} 1\n');
  expect(text).toContain('acme_seconds_count{provider="a",model="bc"} 2\n');
  expect(text).toContain('acme_models{provider="a",model="bc"} 1\n');
  expect(text).toContain('acme_models{provider="ab",model="c"} 1\n');
});
