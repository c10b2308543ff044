import { dirname, resolve } from 'node:path';

import { DATA_DIRECTORY } from './program.ts';

/** Where the example listens and stores its data, from the environment. */
export interface Settings {
  readonly host: string;
  /** `0`: any free port. */
  readonly port: number;
  /** `undefined`: http://localhost with the port that was bound. */
  readonly baseUrl: string | undefined;
  /** Whether `/metrics` is served: only while the server cannot be reached from other machines. */
  readonly metrics: boolean;
  readonly dataDirectory: string;
  readonly databaseUrl: string;
  /** The key-encryption keys, newest first; empty: the key in the file. */
  readonly keyEncryptionKeys: readonly string[];
  /** In the folder of the SQLite file, so that all processes that share it use the same key; else in the data directory. */
  readonly keyEncryptionKeyFile: string;
}

/** An invalid setting. The message names the variable and the remedy. */
export class SettingsError extends Error {
  override readonly name: string = 'SettingsError';
}

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost']);

/** Reads the settings. An empty variable counts as unset. */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  const dataDirectory = resolve(environment['DATA_DIR'] || DATA_DIRECTORY);
  const databaseUrl = environment['DATABASE_URL'] || `sqlite:${resolve(dataDirectory, 'platform.sqlite')}`;
  const [, file] = /^sqlite:(?:\/\/)?([^:].*)$/.exec(databaseUrl) ?? [];
  const keyFolder = file === undefined ? dataDirectory : dirname(resolve(file));
  const host = environment['HOST'] || '127.0.0.1';
  return {
    host,
    port: readPort(environment['PORT'] || '3000'),
    baseUrl: environment['BASE_URL'] ? readBaseUrl(environment['BASE_URL']) : undefined,
    // Behind a proxy, requests of other machines come from this one; a proxy needs BASE_URL.
    metrics: LOOPBACK.has(host) && !environment['BASE_URL'],
    dataDirectory,
    databaseUrl,
    keyEncryptionKeys: environment['KEY_ENCRYPTION_KEY']?.split(',').filter(Boolean) ?? [],
    keyEncryptionKeyFile: resolve(keyFolder, 'key-encryption-key'),
  };
}

function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : NaN;
  if (port <= 65_535) return port;
  throw new SettingsError(`PORT: give a number from 0 to 65535, not "${text}".`);
}

function readBaseUrl(text: string): string {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new SettingsError(
      `BASE_URL: give an http or https URL, such as https://platform.example, not "${text}".`,
    );
  }
  if (url.pathname !== '/' || url.search || url.hash) {
    throw new SettingsError(
      `BASE_URL: leave out everything after the host; this example serves ${url.origin}/.`,
    );
  }
  return url.origin;
}
