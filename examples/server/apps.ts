import type { Knex } from 'knex';
import type { AuthServer, Client, NewSecret } from 'koa-gatehouse';

import type { gate } from './gate.ts';
import type { SampleApp } from './sample.ts';

type Clients = AuthServer<typeof gate>['clients'];

/** A sample app as it is registered. */
export interface RegisteredApp {
  readonly sample: SampleApp;
  readonly client: Client;
}

/** The sample apps on this platform. The table `seeded_apps` has the client id of each one. */
export class Apps {
  readonly #clients: Clients;
  readonly #database: Knex;

  constructor(clients: Clients, database: Knex) {
    this.#clients = clients;
    this.#database = database;
  }

  /** Those of the given apps that are still registered. */
  async find(samples: readonly SampleApp[]): Promise<readonly RegisteredApp[]> {
    const apps = await Promise.all(
      samples.map(async (sample) => {
        const row = await this.#database('seeded_apps').where({ app: sample.app }).first('client_id');
        const client = row && (await this.#clients.find(row.client_id));
        return client ? [{ sample, client }] : [];
      }),
    );
    return apps.flat();
  }

  /**
   * Replaces the secrets of every confidential app by a new one, and registers missing apps. Resolves to the secrets by
   * client id.
   */
  async issueSecrets(samples: readonly SampleApp[], baseUrl: string): Promise<ReadonlyMap<string, string>> {
    const registered = await this.find(samples);
    const secrets = new Map<string, string>();
    for (const sample of samples) {
      const client = registered.find((app) => app.sample === sample)?.client;
      if (!client) {
        const added = await this.#register(sample, baseUrl);
        if (added.secret) secrets.set(added.client.id, added.secret.value);
      } else if (client.confidential) {
        secrets.set(client.id, (await this.#clients.rotateSecret(client.id, { label: 'example' })).value);
      }
    }
    return secrets;
  }

  async #register(
    sample: SampleApp,
    baseUrl: string,
  ): Promise<{ client: Client; secret: NewSecret | undefined }> {
    const { app, name, grantType, confidential, redirectPaths, permissions } = sample;
    const redirectUris = redirectPaths.map((path) => baseUrl + path);
    const added = await this.#clients.create({ name, grantType, confidential, redirectUris, permissions });
    await this.#database('seeded_apps').insert({ app, client_id: added.client.id }).onConflict('app').merge();
    return added;
  }

  /** Adds redirect URIs to the authorization-code apps: their own below this base URL, and the given ones. */
  async addRedirectUris(
    samples: readonly SampleApp[],
    baseUrl: string,
    more: readonly string[],
  ): Promise<void> {
    for (const { sample, client } of await this.find(samples)) {
      if (sample.redirectPaths.length === 0) continue;
      const wanted = new Set([...sample.redirectPaths.map((path) => baseUrl + path), ...more]);
      const missing = [...wanted].filter((uri) => !client.redirectUris.includes(uri));
      if (missing.length === 0) continue;
      await this.#clients.update(client.id, { redirectUris: [...client.redirectUris, ...missing] });
    }
  }

  /** Whether a client secret is one of the app's, by its last characters, which are stored besides its hash. */
  async hasSecret({ client }: RegisteredApp, value: string): Promise<boolean> {
    const secrets = await this.#clients.secrets(client.id);
    return secrets.some(({ hint }) => value.endsWith(hint));
  }

  /** Adds a secret to an app; the others stay valid. */
  async addSecret({ client }: RegisteredApp, label: string): Promise<string> {
    return (await this.#clients.addSecret(client.id, { label })).value;
  }
}
