import type { Platform, RegisteredApp, TokenAnswer } from './platform.ts';

type Endpoint = Pick<Platform, 'token'>;
type More = Readonly<Record<string, unknown>>;

/** The answer to a code or refresh token that is refused, whatever the reason is. */
export const REFUSED_GRANT = {
  error: 'invalid_grant',
  error_description: 'grant request is invalid',
} as const;

/** The credentials of a client at the token endpoint. */
export function asClient({
  client,
  secret,
}: Pick<RegisteredApp, 'client' | 'secret'>): Record<string, string> {
  return { client_id: client.id, ...(client.confidential ? { client_secret: secret } : {}) };
}

/** Sends a code to the token endpoint. */
export async function exchangeCode(
  platform: Endpoint,
  app: RegisteredApp,
  code: unknown,
  more: More = {},
): Promise<TokenAnswer> {
  const parameters = { redirect_uri: app.redirectUri, code, ...more };
  return platform.token({ grant_type: 'authorization_code', ...asClient(app), ...parameters });
}

/** Sends a refresh token to the token endpoint. */
export async function exchangeRefreshToken(
  platform: Endpoint,
  app: Pick<RegisteredApp, 'client' | 'secret'>,
  token: unknown,
  more: More = {},
): Promise<TokenAnswer> {
  return platform.token({ grant_type: 'refresh_token', ...asClient(app), refresh_token: token, ...more });
}

/** Requests a token for the client itself. */
export async function requestClientToken(
  platform: Endpoint,
  service: Pick<RegisteredApp, 'client' | 'secret'>,
  more: More = {},
): Promise<TokenAnswer> {
  return platform.token({ grant_type: 'client_credentials', ...asClient(service), ...more });
}

/** The same, and its access token. */
export async function clientToken(...given: Parameters<typeof requestClientToken>): Promise<string> {
  const { body } = await requestClientToken(...given);
  return body.access_token;
}

/** A credential with another last character. */
export function altered(credential: string): string {
  return credential.slice(0, -1) + (credential.endsWith('A') ? 'B' : 'A');
}
