import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** The portal's client id and secret, and its own cookie key. */
export interface PortalCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Encrypts the session cookies; 32 bytes, base64url. */
  readonly cookieKey: string;
}

/** The portal's configuration file. A real third-party app would have it on its own machine. */
export interface CredentialsFile {
  /** `undefined` when there is no file. */
  read(): Promise<PortalCredentials | undefined>;
  /** Does not change the cookie key, so that sessions stay valid. */
  write(credentials: Pick<PortalCredentials, 'clientId' | 'clientSecret'>): Promise<void>;
}

export function credentialsFile(path: string): CredentialsFile {
  async function read(): Promise<PortalCredentials | undefined> {
    try {
      const credentials: PortalCredentials = JSON.parse(await readFile(path, 'utf8'));
      return credentials;
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
      throw error;
    }
  }

  async function write({
    clientId,
    clientSecret,
  }: Pick<PortalCredentials, 'clientId' | 'clientSecret'>): Promise<void> {
    const cookieKey = (await read())?.cookieKey ?? randomBytes(32).toString('base64url');
    await mkdir(dirname(path), { recursive: true });
    // Renamed into place, because another node may be reading.
    const draft = `${path}.${process.pid}`;
    await writeFile(draft, `${JSON.stringify({ clientId, clientSecret, cookieKey }, null, 2)}\n`, {
      mode: 0o600,
    });
    await rename(draft, path);
  }

  return { read, write };
}
