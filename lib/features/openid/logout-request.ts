import { compactVerify, createLocalJWKSet, errors } from 'jose';
import type { JWK } from 'jose';
import type { Context } from 'koa';

import type { ClientDirectory } from '../../clients/directory.ts';
import { mayRedirect } from '../../clients/redirect-uris.ts';
import type { Client, ConsentStore } from '../../contracts/index.ts';
import { ID_TOKEN_TYPE } from '../../engine/provider.ts';
import { LogoutRequestError } from './errors.ts';
import { hashCredential } from '../../keys/hash.ts';
import type { KeyRing } from '../../keys/key-ring.ts';
import type { AuthorizationRequests } from '../../login/authorization-request.ts';
import type { BrowserRequestOf, LoginSessions } from '../../login/login-session.ts';
import { sidOf } from './sid.ts';
import type { ResolvedOptions } from '../../options/resolved-options.ts';
import type { LogoutPageParts } from '../../login/logout-page.ts';

/** What reading a logout request needs. */
export interface LogoutParts {
  readonly browserRequestOf: BrowserRequestOf;
  readonly clients: Pick<ClientDirectory, 'find'>;
  readonly consents: Pick<ConsentStore, 'find'>;
  readonly idTokens: Pick<KeyRing, 'reload' | 'signing'>;
  readonly requests: Pick<AuthorizationRequests, 'openHint'>;
  readonly sessions: Pick<LoginSessions, 'currentUser' | 'findToEnd'>;
}

const PARAMETERS = [
  'id_token_hint',
  'client_id',
  'post_logout_redirect_uri',
  'state',
  'logout_hint',
] as const;

type Parameters = Partial<Readonly<Record<(typeof PARAMETERS)[number], string>>>;

/** The claims of an ID token by which an app says which login session it means. */
interface Hint {
  readonly aud: string;
  readonly iss: string;
  readonly sid: string;
  readonly sub: string;
}

/**
 * Makes the function that reads the request of an app to sign a user out (OpenID Connect RP-Initiated Logout 1.0 section 2).
 *
 * Any page can send a browser here. The login session ends without a question only when the app shows an ID token of this session, which
 * nobody else has. {@link mayRedirect} decides where the browser is sent afterwards.
 */
export function createReadLogoutRequest(
  { issuer }: Pick<ResolvedOptions, 'issuer'>,
  { browserRequestOf, clients, consents, idTokens, requests, sessions }: LogoutParts,
): NonNullable<LogoutPageParts['logoutRequest']> {
  const readHint = createReadHint(issuer, idTokens);

  return async function logoutRequest(ctx) {
    const parameters = parametersOf(ctx);
    if (!parameters) return undefined;
    const session = await sessions.findToEnd(browserRequestOf(ctx));
    const { client_id: clientId, id_token_hint: idToken } = parameters;
    const hint = idToken === undefined ? undefined : await readHint(requests.openHint(idToken));
    if (hint && clientId !== undefined && clientId !== hint.aud)
      throw new LogoutRequestError('the id_token_hint is of another client than the client_id');
    const client = await findClient(clientId ?? hint?.aud);
    const next = client && nextOf(client, parameters);
    const user = await sessions.currentUser(ctx);
    const isOfSession =
      session !== undefined &&
      hint !== undefined &&
      hint.sid === sidOf(hashCredential(session.uid), hint.aud) &&
      // The host's own login, which ends with the session, may be that of a user whom the app does not mean.
      (user?.id ?? hint.sub) === hint.sub;
    return { client, isOfSession, next, mayReturn: next !== undefined && (await mayReturn()) };

    async function mayReturn(): Promise<boolean> {
      const isKnown = hint !== undefined || user !== undefined;
      const consent = user && (await consents.find(user.id, client!.id));
      const { postLogoutRedirectUris, redirectUris } = client!;
      const registered = [...redirectUris, ...postLogoutRedirectUris];
      return mayRedirect(client!, parameters!.post_logout_redirect_uri!, { consent, isKnown, registered });
    }
  };

  async function findClient(id: string | undefined): Promise<Client | undefined> {
    if (id === undefined) return undefined;
    const stored = await clients.find(id);
    if (stored && !stored.client.disabled) return stored.client;
    throw new LogoutRequestError('the client is not known here');
  }
}

/** @returns `undefined` when the request is not that of an app */
function parametersOf({ query }: Context): Parameters | undefined {
  const sent = PARAMETERS.filter((name) => query[name] !== undefined && query[name] !== '');
  if (sent.length === 0) return undefined;
  const repeated = sent.find((name) => typeof query[name] !== 'string');
  if (repeated !== undefined) throw new LogoutRequestError(`send the parameter ${repeated} once`);
  return Object.fromEntries(sent.map((name) => [name, query[name]]));
}

/** The URL to send the browser to after the logout, if the app names one. @throws LogoutRequestError when it is not registered */
function nextOf(
  { postLogoutRedirectUris }: Client,
  { post_logout_redirect_uri: uri, state }: Parameters,
): string | undefined {
  if (uri === undefined) return undefined;
  if (!postLogoutRedirectUris.includes(uri))
    throw new LogoutRequestError('the post_logout_redirect_uri is not registered for the client');
  if (state === undefined) return uri;
  return `${uri}${uri.includes('?') ? '&' : '?'}state=${encodeURIComponent(state)}`;
}

/** An ID token is a hint after it has expired too (section 2). */
function createReadHint(issuer: string, ring: LogoutParts['idTokens']): (token: string) => Promise<Hint> {
  async function read(token: string): Promise<Hint> {
    const { payload, protectedHeader } = await verify(token, ring.signing).catch(async () => {
      // The token may be signed with a key that another node has added.
      await ring.reload();
      return verify(token, ring.signing);
    });
    const claims = JSON.parse(Buffer.from(payload).toString()) as Hint;
    // Keys that sign ID tokens may sign other tokens too, and other servers on the same storage may have them.
    if (protectedHeader.typ === ID_TOKEN_TYPE && claims.iss === issuer) return claims;
    throw new LogoutRequestError('the id_token_hint is no ID token of this server');
  }

  return async (token) => {
    try {
      return await read(token);
    } catch (cause) {
      if (!(cause instanceof errors.JOSEError)) throw cause;
      throw new LogoutRequestError('the id_token_hint is no ID token of this server', { cause });
    }
  };
}

async function verify(token: string, keys: readonly JWK[]): ReturnType<typeof compactVerify> {
  const published = createLocalJWKSet({
    keys: keys.map(({ alg, crv, e, kid, kty, n, x, y }) => ({ alg, crv, e, kid, kty, n, x, y }) as JWK),
  });
  return compactVerify(token, published, { algorithms: [...new Set(keys.map(({ alg }) => alg!))] });
}
