import type { ImportedClient } from 'koa-gatehouse';
import { KINDS as ALL_KINDS } from '../../../cli/client-text.ts';
import { CORE_KINDS } from '../../../clients/kinds/core.ts';
import { isLoopback } from '../../../contracts/loopback.ts';
import type { PassportClient } from '../types.ts';
import type { ClientGrantType } from '../../../contracts/clients.ts';

const KINDS = [...ALL_KINDS.all.values()];
// By their names: features add grant types to kinds of the core too.
const OF_FEATURES = KINDS.filter(({ name }) => !CORE_KINDS.some((kind) => kind.name === name));

// The kind of clients that act for users and have no redirect URIs.
const WITHOUT_BROWSER = KINDS.find(({ actsFor, forbidden }) => actsFor === 'users' && forbidden.redirectUris);

/** The client to import for a client of Passport, with notes for its developers; or the reason to skip it. */
export type MappedClient =
  | { readonly client: ImportedClient; readonly notes: readonly string[] }
  | { readonly skipped: string };

/** Maps a client of Laravel Passport. A client has one grant type here, so the notes list the grants that it loses. */
export function mapClient(row: PassportClient): MappedClient {
  const formerKind = formerKindOf(row);
  const grants = grantsOf(row);
  const grantType = formerKind === undefined ? chooseGrant(row, grants) : WITHOUT_BROWSER?.name;
  if (grantType === undefined) return { skipped: reasonToSkip(row, grants) };

  const isCode = grantType === 'authorization_code';
  const secureUris = row.redirectUris.filter((uri) => !isInsecure(uri));
  // Without a secure redirect URI, the import refuses the client with an error for each insecure one.
  const redirectUris = secureUris.length > 0 ? secureUris : row.redirectUris;
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
      ...(formerKind === undefined ? lostGrants(grants, grantType) : [FORMER_KINDS[formerKind]]),
      ...(grantType === 'client_credentials' ? [NO_PERMISSIONS] : []),
      isCode ? insecureUrisNote(row.redirectUris.filter((uri) => !redirectUris.includes(uri))) : undefined,
      secretNote,
      ownerNote,
      providerNote(row),
    ].filter((note) => note !== undefined),
  };
}

const NO_PERMISSIONS =
  'It has no permissions yet, because Passport has none for clients. Add them with `gatehouse client permissions`.';

// The redirect URI that Passport's own commands register for clients that need none.
const PLACEHOLDER = 'http://localhost';

// Existing tokens of such a client can be used and refreshed. The client gets new tokens by the grant type with which it is imported.
const FORMER_KINDS = {
  personal_access:
    'A personal access client: its tokens are accepted with the feature laravelPassport(). Users make new ones where the server has the feature for them.',
  password:
    'A password client: its tokens are accepted and refreshed with the feature laravelPassport(). The password grant is not supported (RFC 9700 section 2.4): users who log in anew use a code that their program shows, or another client with authorization codes.',
} as const;

/**
 * Whether a client is a personal access or password client. An upgrade to Passport 13 gives such a client every grant that it could have
 * had before, authorization codes and client credentials included. A client with a redirect URI other than the placeholder also uses one
 * of those grants, so it does not count as such a client.
 */
function formerKindOf({
  grantTypes,
  password,
  personalAccess,
  redirectUris,
}: PassportClient): keyof typeof FORMER_KINDS | undefined {
  const has = (grant: string, flag: boolean): boolean =>
    grantTypes ? grantTypes.includes(grant) && redirectUris.every((uri) => uri === PLACEHOLDER) : flag;
  if (has('personal_access', personalAccess)) return 'personal_access';
  return has('password', password) ? 'password' : undefined;
}

/** The grants of a client. Before version 13 they follow from its redirect URIs and its secret. */
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
  if (grants.includes('client_credentials') && secret !== undefined) return 'client_credentials';
  return OF_FEATURES.find(({ grantTypes }) => grantTypes.some((grant) => grants.includes(grant)))?.name;
}

function reasonToSkip({ secret }: PassportClient, grants: readonly string[]): string {
  if (grants.includes('authorization_code')) return 'It has no redirect URI.';
  if (grants.includes('client_credentials') && secret === undefined)
    return 'It uses client credentials without a secret.';
  if (grants.length === 0) return 'It has neither a redirect URI nor a secret.';
  return `Its grants are not supported: ${grants.join(', ')}.`;
}

function lostGrants(grants: readonly string[], chosen: ClientGrantType): readonly string[] {
  const kept = KINDS.find(({ name }) => name === chosen)?.grantTypes ?? [];
  const lost = grants.filter((grant) => !kept.includes(grant) && grant !== 'refresh_token');
  const others = lost.filter((grant) => grant !== 'client_credentials' && grant !== 'authorization_code');
  return [
    ...(lost.includes('client_credentials')
      ? [
          'It keeps the authorization code grant only. If it also uses client credentials, register another client for that.',
        ]
      : []),
    ...(others.length > 0 ? [`It loses grants that are not supported: ${others.join(', ')}.`] : []),
  ];
}

/** Whether a redirect URI is refused here, because authorization codes would be sent over http. */
function isInsecure(uri: string): boolean {
  const url = URL.parse(uri);
  return url?.protocol === 'http:' && !isLoopback(url.hostname);
}

function insecureUrisNote(uris: readonly string[]): string | undefined {
  if (uris.length === 0) return undefined;
  return `Redirect URIs with http are not imported (RFC 9700 section 2.6): ${uris.join(', ')}. Register them with https.`;
}

function isPrivateUse(uri: string): boolean {
  return !/^https?:/i.test(uri);
}

function providerNote({ provider }: PassportClient): string | undefined {
  if (provider === undefined || provider === 'users') return undefined;
  return `It was for the users of the provider "${provider}" only; here it is for all, and its tokens are not accepted.`;
}

/**
 * Maps the owner when it is a user. An owner from another table, such as a team, is left out: its id may be the same as the id
 * of a user, who would become the owner.
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

/** Maps a secret as Passport stores it: hashed with bcrypt, or, before version 13, in plain text. */
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
