import { hostname } from 'node:os';

import type { Knex } from 'knex';

import type { Apps } from './apps.ts';
import type { CredentialsFile } from './portal/credentials.ts';
import { APPS, PEOPLE, SCHOOLS } from './sample.ts';
import { addSchools } from './schools.ts';
import { doOnce } from './tasks.ts';
import { issuePasswords } from './users.ts';

/** The passwords and secrets that this start generated. The database stores only their hashes. */
export interface Secrets {
  /** By login. */
  readonly passwords: ReadonlyMap<string, string>;
  /** By client id. */
  readonly clientSecrets: ReadonlyMap<string, string>;
}

export interface Seeding {
  readonly database: Knex;
  readonly apps: Apps;
  readonly baseUrl: string;
  /** Generate new secrets even if the platform has been seeded. */
  readonly newSecrets: boolean;
}

/**
 * Seeds a new platform with schools, users and apps. A seeded platform is not changed, except for new secrets on request.
 *
 * Resolves to the generated passwords and secrets, if there are any. It can be repeated after a crash: it adds only what is
 * missing, and passwords and secrets that it replaces were never printed.
 */
export async function seed({ database, apps, baseUrl, newSecrets }: Seeding): Promise<Secrets | undefined> {
  async function issue(): Promise<Secrets> {
    await addSchools(database, SCHOOLS);
    return {
      passwords: await issuePasswords(database, PEOPLE),
      clientSecrets: await apps.issueSecrets(APPS, baseUrl),
    };
  }
  const seeded = await doOnce(database, 'seed', issue);
  return seeded ?? (newSecrets ? await issue() : undefined);
}

/**
 * Gives the portal a client id and a valid secret.
 *
 * Each node with its own data directory gets its own secret: a client may have several.
 */
export async function registerPortal(
  apps: Apps,
  file: CredentialsFile,
  made: Secrets | undefined,
): Promise<void> {
  const [portal] = await apps.find(APPS.filter(({ app }) => app === 'portal'));
  if (!portal) return;
  const clientId = portal.client.id;
  const known = await file.read();
  if (known?.clientId === clientId && (await apps.hasSecret(portal, known.clientSecret))) return;
  const clientSecret =
    made?.clientSecrets.get(clientId) ?? (await apps.addSecret(portal, `portal at ${hostname()}`));
  await file.write({ clientId, clientSecret });
}
