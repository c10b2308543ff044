import type { ClientGrantType, ImportedClient } from 'koa-gatehouse';
import type { PassportClient } from 'koa-gatehouse/adapters/knex';

import { isLoopback } from '../../contracts/loopback.ts';

/** What becomes of a Passport client here, and what its developers should know. */
export type Mapped =
  | { readonly client: ImportedClient; readonly notes: readonly string[] }
  | { readonly skipped: string };

/** Translates a client of Laravel Passport. A client has one grant type here: what it cannot keep is said. */
export function mapClient(row: PassportClient): Mapped {
  const kind = personalOrPassword(row);
  if (kind !== undefined) return { skipped: kind };
  const grants = grantsOf(row);
  const grantType = chooseGrant(row, grants);
  if (grantType === undefined) return { skipped: reasonToSkip(row, grants) };

  const isCode = grantType === 'authorization_code';
  const safe = row.redirectUris.filter((uri) => !isInsecure(uri));
  // With nothing left, the import refuses the client and says why.
  const redirectUris = safe.length > 0 ? safe : row.redirectUris;
  const confidential = row.secret !== undefined;
  const { secret, note: secretNote } = mapSecret(row.secret);
  const { ownerId, note: ownerNote } = mapOwner(row);
  const { createdAt, id, name, revoked, scopes } = row;
  return {
    client: {
      id,
      name,
      grantType,
      redirectUris: isCode ? redirectUris : [],
      confidential,
      native: isCode && !confidential && redirectUris.some(isPrivateUse),
      scopes: scopes?.includes('*') ? undefined : scopes,
      ownerId,
      disabled: revoked,
      secret,
      ...(createdAt === undefined ? {} : { createdAt }),
    },
    notes: [
      ...lostGrants(grants, grantType),
      ...(isCode ? [] : [NO_PERMISSIONS]),
      isCode ? leftOut(row.redirectUris.filter((uri) => !redirectUris.includes(uri))) : undefined,
      secretNote,
      ownerNote,
      providerNote(row),
    ].filter((note) => note !== undefined),
  };
}

const NO_PERMISSIONS =
  'It may do nothing yet: Passport has no permissions of clients. Give it some with `gatehouse client permissions`.';

// What Passport's own commands register for clients that need no redirect URI.
const FILLER = 'http://localhost';

/**
 * Upgrades to version 13 have listed every grant that a client could have had, codes and client credentials for personal
 * access and password clients among them. Those have the filler; what has a real redirect URI is more than that.
 */
function personalOrPassword({
  grantTypes,
  password,
  personalAccess,
  redirectUris,
}: PassportClient): string | undefined {
  const has = (grant: string, flag: boolean): boolean =>
    grantTypes ? grantTypes.includes(grant) && redirectUris.every((uri) => uri === FILLER) : flag;
  if (has('personal_access', personalAccess)) {
    return 'A personal access client: there are no personal access tokens here.';
  }
  if (has('password', password)) {
    return 'A password client: the password grant is not offered (RFC 9700 section 2.4).';
  }
  return undefined;
}

/** Before version 13 a client might do whatever its redirect URIs and its secret allowed. */
function grantsOf({ grantTypes, redirectUris, secret }: PassportClient): readonly string[] {
  return (
    grantTypes ?? [
      ...(redirectUris.length > 0 ? ['authorization_code'] : []),
      ...(secret === undefined ? [] : ['client_credentials']),
    ]
  );
}

function chooseGrant(
  { redirectUris, secret }: PassportClient,
  grants: readonly string[],
): ClientGrantType | undefined {
  if (grants.includes('authorization_code') && redirectUris.length > 0) return 'authorization_code';
  return grants.includes('client_credentials') && secret !== undefined ? 'client_credentials' : undefined;
}

function reasonToSkip({ secret }: PassportClient, grants: readonly string[]): string {
  if (grants.includes('authorization_code')) return 'It has no redirect URI.';
  if (grants.includes('client_credentials') && secret === undefined)
    return 'It gets tokens for itself without a secret.';
  if (grants.length === 0) return 'It has neither a redirect URI nor a secret.';
  return `Its grants are not offered here: ${grants.join(', ')}.`;
}

function lostGrants(grants: readonly string[], chosen: ClientGrantType): readonly string[] {
  const lost = grants.filter((grant) => grant !== chosen && grant !== 'refresh_token');
  const others = lost.filter((grant) => grant !== 'client_credentials' && grant !== 'authorization_code');
  return [
    ...(lost.includes('client_credentials')
      ? ['It gets tokens for people only. If it also gets them for itself, register another client for that.']
      : []),
    ...(others.length > 0 ? [`It loses grants that are not offered here: ${others.join(', ')}.`] : []),
  ];
}

/** Codes would be sent in clear: such an address is not registered here. */
function isInsecure(uri: string): boolean {
  const url = URL.parse(uri);
  return url?.protocol === 'http:' && !isLoopback(url.hostname);
}

function leftOut(uris: readonly string[]): string | undefined {
  if (uris.length === 0) return undefined;
  return `Redirect URIs with http are left out (RFC 9700 section 2.6): ${uris.join(', ')}. Register them with https.`;
}

function isPrivateUse(uri: string): boolean {
  return !/^https?:/i.test(uri);
}

function providerNote({ provider }: PassportClient): string | undefined {
  if (provider === undefined || provider === 'users') return undefined;
  return `It was for the users of the provider "${provider}" only; here it is for all.`;
}

/**
 * Keeps an owner who is a user. Somebody of another table has ids of their own: a team's would make a stranger with the
 * same id the owner.
 */
function mapOwner({ owner, provider = 'users' }: PassportClient): {
  readonly ownerId: string | undefined;
  readonly note?: string;
} {
  if (owner === undefined) return { ownerId: undefined };
  const { id, type } = owner;
  const isUser = type === undefined ? provider === 'users' : /(?:^|\\)user$/i.test(type);
  if (isUser) return { ownerId: id };
  return {
    ownerId: undefined,
    note: `It has no owner here: it was owned by ${type ?? `the provider "${provider}"`}, not by a user.`,
  };
}

/** Takes a secret as Passport stores it: hashed by bcrypt, or, before version 13, plain. */
function mapSecret(stored: string | undefined): {
  readonly secret: ImportedClient['secret'];
  readonly note?: string;
} {
  if (stored === undefined) return { secret: undefined };
  if (/^\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}$/.test(stored)) return { secret: { bcrypt: stored } };
  const hash = /^\$([a-z0-9-]+)\$/i.exec(stored)?.[1];
  if (hash === undefined) return { secret: { value: stored } };
  return {
    secret: undefined,
    note: `Its secret is hashed with ${hash}, which is not supported. Give it a new one with \`gatehouse client secrets add\`.`,
  };
}
