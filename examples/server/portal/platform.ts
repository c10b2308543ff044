/**
 * The HTTP requests of the portal to the platform.
 */
import { createHash, randomBytes } from 'node:crypto';

/** How the portal is registered at the platform. */
export interface Registration {
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: string;
}

export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  /** In milliseconds since 1970. */
  readonly issuedAt: number;
  readonly expiresAt: number;
}

/** An error response of the platform, or no response. The message is shown to the user. */
export class PlatformError extends Error {
  override readonly name: string = 'PlatformError';
  /** The HTTP status; 0 when there was no answer. */
  readonly status: number;

  constructor(message: string, status: number, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** Creates an authorization request (RFC 6749 section 4.1.1) with state and PKCE, and its URL. */
export function newAuthorizationRequest(registration: Registration): {
  state: string;
  codeVerifier: string;
  url: string;
} {
  const state = randomBytes(16).toString('base64url');
  const codeVerifier = randomBytes(32).toString('base64url');
  const url = new URL('/oauth/authorize', registration.baseUrl);
  url.search = new URLSearchParams({
    client_id: registration.clientId,
    redirect_uri: registration.redirectUri,
    response_type: 'code',
    scope: '',
    state,
    code_challenge: createHash('sha256').update(codeVerifier).digest('base64url'),
    code_challenge_method: 'S256',
  }).toString();
  return { state, codeVerifier, url: url.href };
}

/** Exchanges a code for tokens (RFC 6749 section 4.1.3). */
export async function exchangeCode(
  registration: Registration,
  code: string,
  codeVerifier: string,
): Promise<Tokens> {
  return requestTokens(registration, {
    grant_type: 'authorization_code',
    redirect_uri: registration.redirectUri,
    code,
    code_verifier: codeVerifier,
  });
}

/** Gets new tokens with the refresh token (RFC 6749 section 6). */
export async function refreshTokens(registration: Registration, refreshToken: string): Promise<Tokens> {
  return requestTokens(registration, {
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    scope: '',
  });
}

/** Revokes the tokens (RFC 7009). */
export async function revokeTokens(registration: Registration, { refreshToken }: Tokens): Promise<void> {
  await call<undefined>(registration, '/oauth/revoke', {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({
      token: refreshToken,
      token_type_hint: 'refresh_token',
      client_id: registration.clientId,
      client_secret: registration.clientSecret,
    }),
  });
}

/** Reads a resource of the API with the user's access token. */
export async function readResource<T>(
  registration: Registration,
  path: string,
  accessToken: string,
): Promise<T> {
  const headers = { authorization: `Bearer ${accessToken}` };
  const { data } = await call<{ data: T }>(registration, path, { headers });
  return data;
}

/** Reads the enrolment letter of a school with the user's access token: a PDF. */
export async function readLetter(
  registration: Registration,
  id: string,
  accessToken: string,
): Promise<Buffer> {
  const url = new URL(`/api/v1/schools/${encodeURIComponent(id)}/letter`, registration.baseUrl);
  const headers = { authorization: `Bearer ${accessToken}` };
  // Letters are made one after the other, so this one may have to wait.
  const { ok, status, bytes } = await send(url, { headers }, 30_000);
  if (ok) return bytes;
  throw refusal(status, parse(bytes));
}

interface TokenResponse {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_in: number;
}

async function requestTokens(
  registration: Registration,
  parameters: Record<string, string>,
): Promise<Tokens> {
  const issuedAt = Date.now();
  const response = await call<TokenResponse>(registration, '/oauth/token', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      ...parameters,
      client_id: registration.clientId,
      client_secret: registration.clientSecret,
    }),
  });
  return {
    accessToken: response.access_token,
    refreshToken: response.refresh_token,
    issuedAt,
    expiresAt: issuedAt + response.expires_in * 1000,
  };
}

/** An error of the API (RFC 9457) or of the token endpoint (RFC 6749 section 5.2). */
interface ErrorResponse {
  readonly message?: string;
  readonly error_description?: string;
}

async function call<T>({ baseUrl }: Registration, path: string, request: RequestInit): Promise<T> {
  const { ok, status, bytes } = await send(new URL(path, baseUrl), request);
  const body = bytes.length === 0 ? undefined : parse(bytes);
  if (ok) return body;
  throw refusal(status, body);
}

function refusal(status: number, { message, error_description: description }: ErrorResponse): PlatformError {
  return new PlatformError(message ?? description ?? `The platform answered with status ${status}.`, status);
}

/** @param limit - in milliseconds */
async function send(url: URL, request: RequestInit, limit: number = 5000) {
  try {
    const response = await fetch(url, { ...request, redirect: 'error', signal: AbortSignal.timeout(limit) });
    return { ok: response.ok, status: response.status, bytes: Buffer.from(await response.arrayBuffer()) };
  } catch (error) {
    throw unreachable(error);
  }
}

function parse(bytes: Buffer) {
  try {
    return JSON.parse(bytes.toString());
  } catch (error) {
    throw unreachable(error);
  }
}

function unreachable(cause: unknown): PlatformError {
  return new PlatformError('The platform cannot be reached right now. Try again in a moment.', 0, { cause });
}
