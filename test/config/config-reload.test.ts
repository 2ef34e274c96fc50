import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { ConfigReload } from "../../src/cli/config-reload.ts";
import { loadConfig } from "../../src/config/index.ts";
import { recordingLogger } from "../server/support/test-server.ts";

it("keeps the configuration while its file cannot be accessed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "outrigger-reload-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, "outrigger.yaml");
  await writeFile(path, "log_level: info\n");
  const load = () => loadConfig({ environment: { OPENAI_API_KEY: "sk-1" }, flags: { config: path } });
  const { logger, lines } = recordingLogger();
  const use = vi.fn();
  const configReloaded = vi.fn();
  const metrics = { configReloaded };
  const reload = new ConfigReload({ config: await load(), load, use, logger, metrics });
  onTestFinished(() => reload.close());
  await rm(path);
  await symlink(path, path);
  reload.checkFile();
  reload.checkFile();
  await vi.waitFor(() =>
    expect(lines.map(({ msg }) => msg)).toContain(
      "cannot use the changed configuration, keeping the previous one",
    ),
  );
  expect(use).not.toHaveBeenCalled();
  expect(configReloaded).toHaveBeenCalledWith(false);
});
