/**
 * A database as a version of Passport makes it: apps of all kinds, and tokens in every state that the tables can have, with what the
 * old server would answer to each.
 */
import { randomUUID } from 'node:crypto';

import { hashSync } from 'bcryptjs';
import type { Knex } from 'knex';

import { createTables, makeTokens, SECRET } from '../../test/laravel-passport/laravel.ts';
import type { MadeTokens, PassportVersion, Row } from '../../test/laravel-passport/laravel.ts';
import { Random } from '../soak/random.ts';

export interface Scale {
  readonly apps: number;
  readonly users: number;
  readonly tokens: number;
}

type AppKind = 'admins' | 'code' | 'password' | 'personal' | 'public' | 'revoked' | 'service';

export interface App {
  readonly id: string;
  readonly kind: AppKind;
  readonly secret: string | undefined;
}

/** What the old server answers: whether it accepts the access token, and refreshes by the refresh token. */
interface State {
  readonly access: boolean;
  readonly refresh: boolean;
  /** Of a hundred tokens; `undefined`: those are in no row. */
  readonly share: number;
  readonly apps: readonly AppKind[];
}

const USERS_APPS = ['code', 'public', 'password'] as const;
const YES = { access: true, refresh: true };
const NO = { access: false, refresh: false };
const REFRESH_ONLY = { access: false, refresh: true };
const ACCESS_ONLY = { access: true, refresh: false };

export const STATES = {
  live: { ...YES, share: 40, apps: USERS_APPS },
  revoked: { ...NO, share: 15, apps: USERS_APPS },
  expired: { ...NO, share: 15, apps: USERS_APPS },
  'access token expired': { ...REFRESH_ONLY, share: 8, apps: USERS_APPS },
  'access token revoked': { ...REFRESH_ONLY, share: 3, apps: USERS_APPS },
  'access token purged': { ...REFRESH_ONLY, share: 3, apps: USERS_APPS },
  'refresh token revoked': { ...ACCESS_ONLY, share: 2, apps: USERS_APPS },
  purged: { ...NO, share: 1, apps: USERS_APPS },
  personal: { ...ACCESS_ONLY, share: 4, apps: ['personal'] },
  'personal, revoked': { ...NO, share: 1, apps: ['personal'] },
  "a client's own": { ...ACCESS_ONLY, share: 3, apps: ['service'] },
  "a client's own, revoked": { ...NO, share: 1, apps: ['service'] },
  'app revoked': { ...NO, share: 2, apps: ['revoked'] },
  'of another provider': { ...NO, share: 1, apps: ['admins'] },
  // Passport would issue tokens for it, which its guard then refuses.
  'user deleted': { ...NO, share: 1, apps: USERS_APPS },
} as const satisfies Readonly<Record<string, State>>;

export type StateName = keyof typeof STATES;

/** The tokens of a user, or of a client for itself, in a state. */
export interface Sample {
  readonly state: StateName;
  readonly app: App;
  readonly userId: number | null;
  readonly tokens: MadeTokens;
}

export interface PassportDatabase {
  readonly apps: readonly App[];
  /** Of each state, those that are tried. */
  readonly samples: ReadonlyMap<StateName, readonly Sample[]>;
  readonly rows: number;
}

export const REDIRECT_URI = 'https://app.example/callback';

const YEAR = 365 * 86_400;

/** The users with an id above this have no tokens. The nodes do not know those of which the id is above the number of users. */
export const withTokens = (users: number): number => users - 100;

/** @param most - how many tokens of each state are tried; five times as many live ones, for the clients that go on meanwhile */
export async function makeDatabase(
  database: Knex,
  version: PassportVersion,
  { apps: appCount, most, tokens: tokenCount, users }: Scale & { readonly most: number },
): Promise<PassportDatabase> {
  await createTables(database, version);
  const random = new Random(1);
  // Cheap, because each app's secret is compared once.
  const secret = version === '8' ? SECRET : hashSync(SECRET, 4);
  const apps = Array.from({ length: appCount }, (_, index) => makeApp(index, version));
  await insert(
    database,
    'oauth_clients',
    apps.map((app) => clientRow(app, version, secret)),
  );
  const byKind = Map.groupBy(apps, ({ kind }) => kind);
  const samples = new Map<StateName, Sample[]>();
  const access: Row[] = [];
  const refresh: Row[] = [];
  for (const [name, { apps: kinds, share }] of Object.entries(STATES)) {
    const state = name as StateName;
    const of = kinds.flatMap((kind) => byKind.get(kind) ?? []);
    const kept: Sample[] = [];
    samples.set(state, kept);
    if (of.length === 0) continue;
    for (let count = (tokenCount * share) / 100; count > 0; count -= 1) {
      const app = random.pick(of);
      const userId = userOf(state, random.below(withTokens(users)) + 1, users);
      const tokens = makeIn(state, app, userId);
      access.push(...accessRows(state, tokens.accessRow));
      refresh.push(...refreshRows(state, tokens.refreshRow));
      if (kept.length < (state === 'live' ? 5 * most : most)) kept.push({ state, app, userId, tokens });
    }
  }
  await insert(database, 'oauth_access_tokens', access);
  await insert(database, 'oauth_refresh_tokens', refresh);
  return { apps, samples, rows: access.length };
}

function userOf(state: StateName, userId: number, users: number): number | null {
  if (STATES[state].apps[0] === 'service') return null;
  return state === 'user deleted' ? users + userId : userId;
}

const SCOPES = [['orders:read'], ['orders:read', 'orders:write'], ['*'], []];

function makeIn(state: StateName, { id: clientId }: App, userId: number | null): MadeTokens {
  const now = Math.floor(Date.now() / 1000);
  const scopes = SCOPES[(userId ?? 0) % SCOPES.length]!;
  const of = { clientId, userId, scopes };
  switch (state) {
    case 'expired':
      return makeTokens({ ...of, issuedAt: now - 2 * YEAR, expiresIn: YEAR });
    case 'access token expired':
      return makeTokens({ ...of, issuedAt: now - YEAR, expiresIn: YEAR / 2, refreshExpiresIn: 2 * YEAR });
    case 'personal':
    case 'personal, revoked':
      return makeTokens({ ...of, name: 'script', issuedAt: now - 86_400, expiresIn: YEAR });
    default:
      return makeTokens({ ...of, issuedAt: now - 86_400, expiresIn: YEAR });
  }
}

const REVOKED: ReadonlySet<StateName> = new Set([
  'revoked',
  'access token revoked',
  'personal, revoked',
  "a client's own, revoked",
]);

function accessRows(state: StateName, row: Row): readonly Row[] {
  if (state === 'purged' || state === 'access token purged') return [];
  return [{ ...row, revoked: REVOKED.has(state) }];
}

function refreshRows(state: StateName, row: Row | undefined): readonly Row[] {
  // Personal access tokens have none.
  if (!row || state === 'purged' || state.startsWith('personal')) return [];
  return [{ ...row, revoked: state === 'revoked' || state === 'refresh token revoked' }];
}

function makeApp(index: number, version: PassportVersion): App {
  const kind = kindOf(index % 100, version);
  return {
    id: version === '13' ? randomUUID() : `${index + 1}`,
    kind,
    secret: kind === 'public' ? undefined : SECRET,
  };
}

function kindOf(place: number, version: PassportVersion): AppKind {
  if (place === 0) return 'personal';
  if (place < 6) return 'service';
  if (place < 11) return 'password';
  if (place < 14) return 'revoked';
  // The first versions have one provider.
  if (place < 16) return version === '8' ? 'code' : 'admins';
  return place < 30 ? 'public' : 'code';
}

const GRANTS: Readonly<Record<AppKind, readonly string[]>> = {
  admins: ['authorization_code', 'refresh_token'],
  code: ['authorization_code', 'refresh_token'],
  password: ['password', 'refresh_token'],
  personal: ['personal_access'],
  public: ['authorization_code', 'refresh_token'],
  revoked: ['authorization_code', 'refresh_token'],
  service: ['client_credentials'],
};

function clientRow({ id, kind, secret: plain }: App, version: PassportVersion, stored: string): Row {
  const hasUri = GRANTS[kind].includes('authorization_code');
  const common = {
    id,
    name: `App ${id}`,
    secret: plain === undefined ? null : stored,
    revoked: kind === 'revoked',
    created_at: '2024-03-04 05:06:07',
    updated_at: '2024-03-04 05:06:07',
    ...(version !== '8' && { provider: kind === 'admins' ? 'admins' : null }),
  };
  if (version === '13') {
    return {
      ...common,
      redirect_uris: JSON.stringify(hasUri ? [REDIRECT_URI] : []),
      grant_types: JSON.stringify(GRANTS[kind]),
    };
  }
  const placeholder = kind === 'service' ? '' : 'http://localhost';
  return {
    ...common,
    redirect: hasUri ? REDIRECT_URI : placeholder,
    personal_access_client: kind === 'personal',
    password_client: kind === 'password',
  };
}

async function insert(database: Knex, table: string, rows: readonly Row[]): Promise<void> {
  await database.transaction(async (transaction) => {
    for (let at = 0; at < rows.length; at += 500) await transaction(table).insert(rows.slice(at, at + 500));
  });
}
