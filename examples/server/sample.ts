import type { Client } from 'koa-gatehouse';

import type { Permission, Role } from './gate.ts';
import type { School } from './schools.ts';

/** A user that the platform is seeded with, which also generates the password. */
export interface SamplePerson {
  /** An email address. */
  readonly login: string;
  readonly name: string;
  readonly roles: readonly Role[];
  readonly permissions: readonly Permission[];
}

export const PEOPLE: readonly SamplePerson[] = [
  { login: 'ada@platform.example', name: 'Ada Okafor', roles: ['administrator'], permissions: [] },
  { login: 'ruth@platform.example', name: 'Ruth Lindgren', roles: [], permissions: ['view_schools'] },
  { login: 'tom@platform.example', name: 'Tom Bauer', roles: [], permissions: [] },
];

/** An app that the platform is seeded with, which also generates its id and secret. */
export interface SampleApp {
  /** A fixed key, because the name can be changed. */
  readonly app: 'portal' | 'command-line' | 'browser' | 'import' | 'monitor';
  readonly name: string;
  readonly grantType: Client['grantType'];
  readonly confidential: boolean;
  /** Below the base URL; of authorization-code apps. */
  readonly redirectPaths: readonly string[];
  readonly permissions: readonly Permission[];
}

const person = { grantType: 'authorization_code', permissions: [] } as const;
const machine = { grantType: 'client_credentials', confidential: true, redirectPaths: [] } as const;

export const APPS: readonly SampleApp[] = [
  {
    app: 'portal',
    name: 'Partner portal',
    ...person,
    confidential: true,
    redirectPaths: ['/portal/callback'],
  },
  { app: 'command-line', name: 'Command line', ...person, confidential: true, redirectPaths: ['/code'] },
  {
    app: 'browser',
    name: 'Browser app',
    ...person,
    confidential: false,
    // The second one is that of the API's documentation, where a developer signs in as the app.
    redirectPaths: ['/code', '/api/v1/docs/oauth2-redirect.html'],
  },
  { app: 'import', name: 'Nightly import', ...machine, permissions: ['view_schools', 'edit_schools'] },
  { app: 'monitor', name: 'Status monitor', ...machine, permissions: [] },
];

export const SCHOOLS: readonly School[] = [
  { id: 'birch-hill', name: 'Birch Hill Primary', city: 'Aarhus', open: true },
  { id: 'harbour', name: 'Harbour School', city: 'Rotterdam', open: true },
  { id: 'lakeside', name: 'Lakeside Grammar', city: 'Lucerne', open: false },
  { id: 'north-gate', name: 'North Gate Academy', city: 'York', open: true },
  { id: 'old-mill', name: 'Old Mill Montessori', city: 'Ghent', open: false },
  { id: 'saint-brigid', name: 'Saint Brigid’s', city: 'Galway', open: true },
];
