import type { Client } from 'koa-gatehouse';

import type { RegisteredApp } from './apps.ts';
import { gate } from './gate.ts';
import { PEOPLE } from './sample.ts';
import type { SampleApp } from './sample.ts';
import type { Secrets } from './seed.ts';

/** What is printed at start: the base URL, the users and the apps. */
export interface Announcement {
  readonly baseUrl: string;
  readonly users: readonly AnnouncedUser[];
  readonly apps: readonly AnnouncedApp[];
  /** Whether passwords and secrets were created in this start, so that they can be printed. */
  readonly fresh: boolean;
}

export interface AnnouncedUser {
  readonly login: string;
  /** `null`: not known, because only the hash is stored. */
  readonly password: string | null;
  readonly permissions: readonly string[];
}

export interface AnnouncedApp {
  readonly app: SampleApp['app'];
  readonly name: string;
  readonly grantType: Client['grantType'];
  readonly clientId: string;
  readonly confidential: boolean;
  /** `null` for a public app, and for a confidential one whose secret is stored as a hash only. */
  readonly clientSecret: string | null;
  /** Below this platform's base URL; only for authorization-code apps. */
  readonly redirectUri: string | undefined;
  /** All registered redirect URIs, the one of this platform first. */
  readonly redirectUris: readonly string[];
  readonly permissions: readonly string[];
}

export function prepareAnnouncement(
  baseUrl: string,
  apps: readonly RegisteredApp[],
  made: Secrets | undefined,
): Announcement {
  return {
    baseUrl,
    fresh: made !== undefined,
    users: PEOPLE.map((person) => ({
      login: person.login,
      password: made?.passwords.get(person.login) ?? null,
      permissions: [...gate.effectivePermissions(person).keys()],
    })),
    apps: apps.map((app) => announceApp(app, baseUrl, made)),
  };
}

function announceApp(
  { sample, client }: RegisteredApp,
  baseUrl: string,
  made: Secrets | undefined,
): AnnouncedApp {
  const redirectUri = sample.redirectPaths[0] && baseUrl + sample.redirectPaths[0];
  return {
    app: sample.app,
    name: client.name,
    grantType: client.grantType,
    clientId: client.id,
    confidential: client.confidential,
    clientSecret: made?.clientSecrets.get(client.id) ?? null,
    redirectUri,
    redirectUris: client.redirectUris.toSorted(
      (a, b) => Number(b === redirectUri) - Number(a === redirectUri),
    ),
    permissions: [...gate.effectivePermissions(client).keys()],
  };
}

/** The announcement as one line of JSON, for scripts. */
export function announceAsJson({ baseUrl, users, apps }: Announcement): string {
  return JSON.stringify({
    base_url: baseUrl,
    users,
    clients: apps.map((app) => ({
      name: app.name,
      grant_type: app.grantType,
      client_id: app.clientId,
      client_secret: app.clientSecret,
      redirect_uris: app.redirectUris,
      permissions: app.permissions,
    })),
  });
}
