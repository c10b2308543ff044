import { announceAsJson } from '../../examples/server/announcement.ts';
import { startPlatform } from '../../examples/server/platform.ts';
import type { PlatformOptions } from '../../examples/server/platform.ts';
import { readSettings } from '../../examples/server/settings.ts';
import { temporaryDirectory } from './running-example.ts';
import type { Announced } from './running-example.ts';

export interface ServedExample extends AsyncDisposable {
  readonly announced: Announced;
  readonly dataDirectory: string;
}

/**
 * The example server in this process: a process of its own, which only tests of its start and its end need, takes several times as long.
 *
 * @param given.dataDirectory - of an earlier start; one that is removed afterwards unless it is given
 * @param given.environment - of the settings, of Chromium and of the PDF service; the library does not see it
 */
export async function serveExample({
  dataDirectory,
  environment,
  newSecrets = false,
  redirectUris = [],
}: Partial<Pick<PlatformOptions, 'newSecrets' | 'redirectUris'>> & {
  dataDirectory?: string;
  environment?: Readonly<Record<string, string>>;
} = {}): Promise<ServedExample> {
  await using stack = new AsyncDisposableStack();
  const folder = dataDirectory ?? stack.use(await temporaryDirectory()).path;
  const settings = readSettings({ PORT: '0', DATA_DIR: folder, ...environment });
  // Chromium's sandbox does not start as root, which the tests are in a container.
  const own = { ...(process.getuid?.() === 0 && { CHROMIUM_SANDBOX: 'false' }), ...environment };
  const before = { ...process.env };
  Object.assign(process.env, own);
  const starting = startPlatform({ settings, newSecrets, redirectUris });
  // Those of Chromium and the PDF service have been read.
  for (const name of Object.keys(own)) {
    if (before[name] === undefined) delete process.env[name];
    else process.env[name] = before[name];
  }
  const { announcement, stop } = await starting;
  stack.defer(stop);
  const all = stack.move();
  return {
    announced: JSON.parse(announceAsJson(announcement)) as Announced,
    dataDirectory: folder,
    [Symbol.asyncDispose]: async () => all.disposeAsync(),
  };
}
