import type { Client, ClientSecret } from 'koa-gatehouse';

import { furtherValues } from '../clients/further-fields.ts';
import type { ClientKinds } from '../contracts/client-kinds.ts';
import { clientFieldsOf, clientKindsOf, clientSourcesOf } from '../features/known.ts';
import { keysText } from './client-keys.ts';
import { timeText } from './report.ts';
import { properties, table } from './table.ts';

/** A client as text. Members that its grant type does not use are left out. */
export function clientText(client: Client): string {
  return properties([
    ['Client ID', client.id],
    ['Name', client.name],
    ...(client.clientUri === undefined ? [] : ([['Homepage', client.clientUri]] as const)),
    ...(client.logoHash === undefined ? [] : ([['Logo', `SHA-256 ${client.logoHash}`]] as const)),
    ...(client.verified ? ([['Verified', 'yes']] as const) : []),
    ...(client.source === 'manual' ? [] : ([['Registered', sourceText(client)]] as const)),
    ['Grant type', client.grantType],
    ['Kind', client.confidential ? 'confidential' : client.native ? 'public, native' : 'public'],
    ...(client.keys ? ([['Keys', keysText(client)]] as const) : []),
    ['Status', client.disabled ? 'disabled' : 'enabled'],
    ...ownRows(client),
    ['Scopes', client.scopes ?? 'all'],
    ['Owner', client.ownerId ?? []],
    ['Lifetimes', lifetimesText(client.lifetimes)],
    ['Created (UTC)', timeText(client.createdAt)],
    ['Updated (UTC)', timeText(client.updatedAt)],
  ]);
}

/** How a client became known, in words. */
export function sourceText({ source }: Client): string {
  return source === 'manual' ? 'by hand' : (SOURCES.all.get(source)?.about ?? source);
}

const SOURCES = clientSourcesOf([]);

function ownRows({ firstParty, grantType, permissions, redirectUris, roles, ...more }: Client): TextRow[] {
  const further = furtherValues(more, FIELDS).flatMap(([{ label }, value]): TextRow[] =>
    value === undefined || value.length === 0 ? [] : [[label, value]],
  );
  const consent: TextRow = ['Consent', firstParty ? 'not asked: first-party' : 'asked'];
  const { actsFor, forbidden } = KINDS.all.get(grantType) ?? { actsFor: 'users', forbidden: {} };
  const asked: TextRow = forbidden.firstParty ? ['Consent', 'asked each time'] : consent;
  return [
    ...(forbidden.redirectUris ? [] : ([['Redirect URIs', redirectUris]] as TextRow[])),
    ...further,
    ...(actsFor === 'users' ? [asked] : []),
    ...(forbidden.roles
      ? []
      : ([
          ['Roles', roles],
          ['Permissions', permissions],
        ] as TextRow[])),
  ];
}

/** The kinds of clients of all features. */
export const KINDS: ClientKinds = clientKindsOf(undefined);
const FIELDS = clientFieldsOf(undefined).all;

type TextRow = [label: string, value: string | readonly string[]];

function lifetimesText({ accessToken, refreshToken, refreshTokenAbsolute }: Client['lifetimes']): string[] {
  const own = [
    ['access token', accessToken],
    ['refresh token', refreshToken],
    ['an authorization', refreshTokenAbsolute],
  ] as const;
  const lines = own.flatMap(([what, seconds]) => (seconds === undefined ? [] : [`${what} ${seconds} s`]));
  return lines.length === 0 ? ["the server's"] : lines;
}

export function secretsText(secrets: readonly ClientSecret[]): string {
  if (secrets.length === 0) return 'No secrets.';
  return table(
    ['Secret ID', 'Label', 'Ends in', 'Created (UTC)', 'Expires (UTC)', 'Last used (UTC)'],
    secrets.map(({ createdAt, expiresAt, hint, id, label, lastUsedAt }) => [
      id,
      label,
      hint || '–',
      timeText(createdAt),
      timeText(expiresAt, 'never'),
      timeText(lastUsedAt, 'never'),
    ]),
    'Label',
  );
}

/** The value of a new secret as text. */
export function newSecretText(clientId: string, secret: string): string {
  return [
    properties([
      ['Client ID', clientId],
      ['Client secret', secret],
    ]),
    'The secret is shown only once. Store it in the configuration of the app.',
  ].join('\n\n');
}
