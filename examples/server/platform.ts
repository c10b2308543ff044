import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import { resolve } from 'node:path';

import type { Knex } from 'knex';
import { agents, developer, devices, personalTokens, createAuthServer } from 'koa-gatehouse';
import type { AuthServer } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { pages } from 'koa-gatehouse/interactions';

import { prepareAnnouncement } from './announcement.ts';
import type { Announcement } from './announcement.ts';
import { createApp } from './app.ts';
import { Apps } from './apps.ts';
import { CONNECTION_LIMITS } from './connection-limits.ts';
import { migrateDatabase, openDatabase } from './database.ts';
import { pdfAccess } from './documents/pdf-service.ts';
import { germanLabels } from './german.ts';
import { agentsUrl, gate, resourcesAt, scopes } from './gate.ts';
import { keyEncryptionKeyIn } from './key-encryption-key.ts';
import { createLetters } from './letters/letters.ts';
import { credentialsFile } from './portal/credentials.ts';
import type { CredentialsFile } from './portal/credentials.ts';
import { APPS } from './sample.ts';
import { registerPortal, seed } from './seed.ts';
import type { Settings } from './settings.ts';
import { gracefulStop } from './shutdown.ts';
import { platformUsers } from './users.ts';

/** The running platform. */
export interface Platform {
  readonly announcement: Announcement;
  /** The file with the portal's client id and secret. */
  readonly portalFile: string;
  /** Waits for running requests, then closes everything. */
  readonly stop: () => Promise<void>;
}

export interface PlatformOptions {
  readonly settings: Settings;
  readonly newSecrets: boolean;
  readonly redirectUris: readonly string[];
}

/** The platform before it serves requests. */
interface PreparedPlatform {
  readonly auth: AuthServer<typeof gate>;
  readonly database: Knex;
  readonly announcement: Announcement;
  readonly portalFile: string;
  readonly portalCredentials: CredentialsFile;
  readonly close: () => Promise<void>;
}

/** Starts the platform. It listens first, because the issuer contains the port; requests wait until it is ready. */
export async function startPlatform(options: PlatformOptions): Promise<Platform> {
  const { settings } = options;
  const pdf = pdfAccess(process.env);
  const letters = createLetters(process.env);
  const ready = Promise.withResolvers<RequestListener>();
  const server = createServer(CONNECTION_LIMITS, (request, response) => {
    void ready.promise.then((listener) => listener(request, response));
  });
  const stopServer = gracefulStop(server);
  const port = await listen(server, settings);
  const baseUrl = settings.baseUrl ?? `http://localhost:${port}`;
  const prepared = await preparePlatform({ ...options, baseUrl });

  const documentsFolder = resolve(settings.dataDirectory, 'documents');
  const { metrics } = settings;
  const app = await createApp({ ...prepared, baseUrl, documentsFolder, metrics, pdf, letters });
  const listener = app.callback();
  ready.resolve((request, response) => void listener(request, response));

  return {
    announcement: prepared.announcement,
    portalFile: prepared.portalFile,
    async stop() {
      await stopServer();
      await pdf.stop();
      await letters.stop();
      await prepared.close();
    },
  };
}

/** Opens and migrates the database, and seeds it if it is new. Several processes may do this at the same time. */
export async function preparePlatform({
  settings,
  newSecrets,
  redirectUris,
  baseUrl,
}: PlatformOptions & { readonly baseUrl: string }): Promise<PreparedPlatform> {
  const database = await openDatabase(settings.databaseUrl);
  await migrateDatabase(database);
  const storage = knexStorage(database);
  await storage.migrate();

  const { keyEncryptionKeyFile, keyEncryptionKeys } = settings;
  const resources = resourcesAt(baseUrl);
  const auth = await createAuthServer({
    issuer: baseUrl,
    users: platformUsers(database),
    storage,
    interactions: pages({
      brand: {
        name: 'Larkfield Schools',
        logo: resolve(import.meta.dirname, 'public/wordmark.svg'),
        accent: '#1f5fbf',
      },
      language: ['en', 'de'],
      text: { de: germanLabels(baseUrl) },
    }),
    gate,
    scopes,
    resources,
    clients: {
      // Apps may sign assertions instead of sending a secret.
      privateKeyJwt: true,
    },
    features: [
      // What an agent may do is what its user checks on the consent page.
      agents({ apis: [agentsUrl(baseUrl)] }),
      // Command lines and televisions sign their users in at /oauth/device.
      devices(),
      // Users create tokens for their scripts at /account/tokens.
      personalTokens(),
      // Users with the permission manage_apps register apps at /developer/apps.
      developer(),
    ],
    secrets: {
      keyEncryptionKey:
        keyEncryptionKeys.length > 0 ? keyEncryptionKeys : await keyEncryptionKeyIn(keyEncryptionKeyFile),
    },
  });

  const apps = new Apps(auth.clients, database);
  const portalFile = resolve(settings.dataDirectory, 'partner-portal.json');
  const portalCredentials = credentialsFile(portalFile);
  const made = await seed({ database, apps, baseUrl, newSecrets });
  await apps.addRedirectUris(APPS, baseUrl, redirectUris);
  await registerPortal(apps, portalCredentials, made);

  return {
    auth,
    database,
    announcement: prepareAnnouncement(baseUrl, await apps.find(APPS), made),
    portalFile,
    portalCredentials,
    async close() {
      await auth.close();
      await database.destroy();
    },
  };
}

/** Resolves to the port, once it is bound. */
async function listen(server: Server, { host, port }: Settings): Promise<number> {
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  return typeof address === 'object' && address ? address.port : port;
}
