import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createAdministration } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { connect, MARIADB, POSTGRESQL } from '../../test/adapters/servers.ts';
import { KEY_ENCRYPTION_KEY, REDIRECT_URI } from './platform.ts';
import type { RegisteredClient } from './world.ts';

/** A database that is made for a run, with its clients. */
export interface SoakDatabase {
  readonly name: 'SQLite' | 'PostgreSQL' | 'MariaDB';
  readonly address: string;
  drop(): Promise<void>;
}

/**
 * Makes a database of its own: a file in a new folder beside the given one, or a database on the given server.
 * @param given - an address as the command `gatehouse` takes it; `sqlite:` alone means the system's folder for temporary files
 */
export async function createDatabase(given: string): Promise<SoakDatabase> {
  const name = `gatehouse_soak_${randomBytes(6).toString('hex')}`;
  if (given.startsWith('sqlite:')) {
    const file = given.slice('sqlite:'.length);
    const folder = mkdtempSync(join(file === '' ? tmpdir() : join(file, '..'), 'gatehouse-soak-'));
    return {
      name: 'SQLite',
      address: `sqlite:${join(folder, `${name}.db`)}`,
      drop: async () => rmSync(folder, { recursive: true }),
    };
  }
  const kind = given.startsWith('postgres') ? POSTGRESQL : MARIADB;
  const server = connect(kind, given);
  const address = new URL(given);
  address.pathname = name;
  await server.raw(`create database ${name}`);
  return {
    name: kind.name,
    address: address.href,
    async drop() {
      // A connection of a killed node may still be open there.
      await server.raw(`drop database ${name} ${kind.client === 'pg' ? 'with (force)' : ''}`);
      await server.destroy();
    },
  };
}

const APPS = 8;
const SERVICES = 4;

/** Creates the tables and the clients. */
export async function prepareDatabase(
  address: string,
): Promise<{ readonly apps: readonly RegisteredClient[]; readonly services: readonly RegisteredClient[] }> {
  const storage = knexStorage(address);
  await storage.migrate();
  const administration = createAdministration({ storage, secrets: { keyEncryptionKey: KEY_ENCRYPTION_KEY } });
  const { clients } = administration;
  const apps: RegisteredClient[] = [];
  const services: RegisteredClient[] = [];
  for (let number = 0; number < APPS + SERVICES; number += 1) {
    const isApp = number < APPS;
    const { client, secret } = await clients.create(
      isApp
        ? { name: `App ${number}`, grantType: 'authorization_code', redirectUris: [REDIRECT_URI] }
        : { name: `Service ${number}`, grantType: 'client_credentials' },
    );
    (isApp ? apps : services).push({ number, id: client.id, secret: secret!.value });
  }
  await administration.close();
  return { apps, services };
}
