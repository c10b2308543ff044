import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** What the portal was told when it was registered, and a key of its own. */
export interface PortalCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Seals the session cookies; 32 bytes, base64url. */
  readonly cookieKey: string;
}

/** The portal's own configuration file. An outside application would have its own machine for it. */
export interface CredentialsFile {
  /** `undefined` when there is no file. */
  read(): Promise<PortalCredentials | undefined>;
  /** Keeps the cookie key, so that people stay connected. */
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
