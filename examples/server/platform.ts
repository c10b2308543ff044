import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import { resolve } from 'node:path';

import { createAuthServer } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { pages } from 'koa-gatehouse/interactions';

import { prepareAnnouncement } from './announcement.ts';
import type { Announcement } from './announcement.ts';
import { createApp } from './app.ts';
import { Apps } from './apps.ts';
import { migrateDatabase, openDatabase } from './database.ts';
import { pdfAccess } from './documents/pdf-service.ts';
import { gate, scopes } from './gate.ts';
import { credentialsFile } from './portal/credentials.ts';
import { APPS } from './sample.ts';
import { registerPortal, seed } from './seed.ts';
import type { Settings } from './settings.ts';
import { gracefulStop } from './shutdown.ts';
import { platformUsers } from './users.ts';

/** The running platform. */
export interface Platform {
  readonly announcement: Announcement;
  /** Where the portal keeps its client id and secret. */
  readonly portalFile: string;
  /** Lets running requests end, then releases everything. */
  readonly stop: () => Promise<void>;
}

export interface PlatformOptions {
  readonly settings: Settings;
  readonly newSecrets: boolean;
  readonly redirectUris: readonly string[];
}

/** Starts the platform. It listens first, because the issuer holds the port; requests wait until everything is ready. */
export async function startPlatform({
  settings,
  newSecrets,
  redirectUris,
}: PlatformOptions): Promise<Platform> {
  const pdf = pdfAccess(process.env);
  const ready = Promise.withResolvers<RequestListener>();
  const server = createServer((request, response) => {
    void ready.promise.then((listener) => listener(request, response));
  });
  const stopServer = gracefulStop(server);
  const port = await listen(server, settings);
  const baseUrl = settings.baseUrl ?? `http://localhost:${port}`;

  const database = await openDatabase(settings.databaseUrl);
  await migrateDatabase(database);
  const storage = knexStorage(database);
  await storage.migrate();

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
    }),
    gate,
    scopes,
  });

  const apps = new Apps(auth.clients, database);
  const portalFile = resolve(settings.dataDirectory, 'partner-portal.json');
  const portalCredentials = credentialsFile(portalFile);
  const made = await seed({ database, apps, baseUrl, newSecrets });
  await apps.addRedirectUris(APPS, baseUrl, redirectUris);
  await registerPortal(apps, portalCredentials, made);
  const documentsFolder = resolve(settings.dataDirectory, 'documents');
  const app = createApp({ auth, database, baseUrl, portalCredentials, documentsFolder, pdf });
  const listener = app.callback();
  ready.resolve((request, response) => void listener(request, response));

  return {
    announcement: prepareAnnouncement(baseUrl, await apps.find(APPS), made),
    portalFile,
    async stop() {
      await stopServer();
      await pdf.stop();
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
