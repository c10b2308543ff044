import type { Client, ClientTypes } from 'koa-gatehouse';

import { keysText } from './client-keys.ts';
import { timeText } from './report.ts';
import { properties, table } from './table.ts';

/** A client as text. Members that its grant type does not use are left out. */
export function clientText(client: Client): string {
  return properties([
    ['Client ID', client.id],
    ['Name', client.name],
    ...(client.clientUri === undefined ? [] : ([['Homepage', client.clientUri]] as const)),
    ...(client.logo === undefined ? [] : ([['Logo', `SHA-256 ${client.logo}`]] as const)),
    ...(client.verified ? ([['Verified', 'yes']] as const) : []),
    ...(client.registration === 'manual'
      ? []
      : ([['Registered', REGISTRATION[client.registration]]] as const)),
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
export const REGISTRATION: Readonly<Record<Client['registration'], string>> = {
  manual: 'by hand',
  dynamic: 'by the app itself',
  metadata_document: 'by its metadata document',
};

function ownRows({
  backchannelLogoutUri,
  firstParty,
  grantType,
  permissions,
  postLogoutRedirectUris,
  redirectUris,
  roles,
}: Client): TextRow[] {
  const afterLogout: TextRow[] =
    postLogoutRedirectUris.length > 0 ? [['After logout', postLogoutRedirectUris]] : [];
  const onLogout: TextRow[] =
    backchannelLogoutUri === undefined ? [] : [['Told of logouts', backchannelLogoutUri]];
  const consent: TextRow = ['Consent', firstParty ? 'not asked: first-party' : 'asked'];
  const rows: Readonly<Record<Client['grantType'], TextRow[]>> = {
    authorization_code: [['Redirect URIs', redirectUris], ...afterLogout, ...onLogout, consent],
    client_credentials: [
      ['Roles', roles],
      ['Permissions', permissions],
    ],
    device_code: [['Consent', 'asked each time']],
  };
  return rows[grantType];
}

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

export function secretsText(secrets: readonly ClientTypes.ClientSecret[]): string {
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
