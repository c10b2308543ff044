import type { Client, ClientSecret } from 'koa-gatehouse';

import { timeText } from './report.ts';
import { properties, table } from './table.ts';

/** A client as text. Members that its grant type does not use are left out. */
export function clientText(client: Client): string {
  const isCode = client.grantType === 'authorization_code';
  return properties([
    ['Client ID', client.id],
    ['Name', client.name],
    ['Grant type', client.grantType],
    ['Kind', client.confidential ? 'confidential' : client.native ? 'public, native' : 'public'],
    ['Status', client.disabled ? 'disabled' : 'enabled'],
    ...(isCode
      ? ([
          ['Redirect URIs', client.redirectUris],
          ['Consent', client.firstParty ? 'not asked: first-party' : 'asked'],
        ] as const)
      : ([
          ['Roles', client.roles],
          ['Permissions', client.permissions],
        ] as const)),
    ['Scopes', client.scopes ?? 'all'],
    ['Owner', client.ownerId ?? []],
    ['Lifetimes', lifetimesText(client.lifetimes)],
    ['Created (UTC)', timeText(client.createdAt)],
    ['Updated (UTC)', timeText(client.updatedAt)],
  ]);
}

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
    [
      { title: 'Secret ID' },
      { title: 'Label', shrinks: true },
      { title: 'Ends in' },
      { title: 'Created (UTC)' },
      { title: 'Expires (UTC)' },
      { title: 'Last used (UTC)' },
    ],
    secrets.map(({ createdAt, expiresAt, hint, id, label, lastUsedAt }) => [
      id,
      label,
      hint || '–',
      timeText(createdAt),
      timeText(expiresAt, 'never'),
      timeText(lastUsedAt, 'never'),
    ]),
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
