import { hostname } from 'node:os';

import type { Knex } from 'knex';

import type { Apps } from './apps.ts';
import type { CredentialsFile } from './portal/credentials.ts';
import { APPS, PEOPLE, SCHOOLS } from './sample.ts';
import { addSchools } from './schools.ts';
import { doOnce } from './tasks.ts';
import { issuePasswords } from './users.ts';

/** What was made in this start. Nobody can read it again: the database keeps hashes. */
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
  /** Make new secrets although the platform has been seeded. */
  readonly newSecrets: boolean;
}

/**
 * Fills a new platform with schools, people and apps. A platform that has them is left alone, unless new secrets are wanted.
 *
 * Resolves to what was made, if anything. It can be repeated after a crash half way: everything is added only where it is
 * missing, and replaced passwords and secrets had not been shown to anyone.
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
 * Sees to it that the portal has a client id and a secret that works.
 *
 * A node with a data directory of its own gets a secret of its own: a client may have several.
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
