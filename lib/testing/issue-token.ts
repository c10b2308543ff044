import type { AuthServer } from '../server/auth-server.ts';
import type { Client, User } from '../contracts/index.ts';
import { parseDuration } from '../options/duration.ts';
import type { Duration } from '../options/duration.ts';
import { ConfigError } from '../errors.ts';
import { internalsOf } from '../server/internals.ts';

/** Whom a token speaks for, and how. */
export type TokenRequest = {
  /** @default [] */
  readonly scopes?: readonly string[];
  /** @default the server's lifetime of access tokens */
  readonly expiresIn?: Duration;
} & (
  | {
      /** A user whom the user store knows. */
      readonly user: User;
      /** A registered client to act through. @default one named "Test client", which is registered for it */
      readonly client?: Client;
    }
  | {
      readonly user?: undefined;
      /** A registered client that acts for itself. */
      readonly client: Client;
    }
);

/**
 * Issues an access token of a server, without a login: for tests that send a token, and for what happens to tokens later.
 * It is one as the token endpoint gives out; the guard takes it, and it can be revoked.
 *
 * @throws ConfigError for a scope that the server does not have, or a client that it does not know or that is disabled
 *
 * @example
 * import { issueToken } from 'koa-gatehouse/testing';
 * const token = await issueToken(auth, { user: ann, scopes: ['schools:read'] });
 * await request(app.callback()).get('/api/v1/schools').auth(token, { type: 'bearer' });
 */
export async function issueToken(auth: AnyAuthServer, given: TokenRequest): Promise<string> {
  const internals = internalsOf(auth);
  if (!internals) throw new ConfigError('issueToken()', 'pass the server that createAuthServer() made');
  const { expiresIn, scopes = [], user } = given;
  const unknown = scopes.find((scope) => !auth.scopes.has(scope));
  if (unknown !== undefined) throw new ConfigError('scopes', `the server has no scope "${unknown}"`);
  const lifetime = parseDuration(expiresIn);
  if (expiresIn !== undefined && lifetime === undefined) {
    throw new ConfigError('expiresIn', "give seconds, or a duration such as '1 hour'");
  }
  const clientId = given.client?.id ?? (await testClientOf(auth));
  const token = await internals.issueToken({ clientId, userId: user?.id, scopes, lifetime });
  if (token === undefined) {
    throw new ConfigError(
      'client',
      'the server does not know it, or it is disabled; use auth.clients.create()',
    );
  }
  return token;
}

/** Any server that `createAuthServer()` made, whatever its permissions and users. */
export type AnyAuthServer = Pick<AuthServer, 'clients' | 'scopes'>;

const testClients = new WeakMap<object, Promise<string>>();

async function testClientOf(auth: AnyAuthServer): Promise<string> {
  let id = testClients.get(auth);
  if (!id) {
    id = registerTestClient(auth);
    testClients.set(auth, id);
  }
  return id;
}

async function registerTestClient({ clients }: AnyAuthServer): Promise<string> {
  const { client } = await clients.create({
    name: 'Test client',
    grantType: 'authorization_code',
    redirectUris: ['https://test-client.example/callback'],
  });
  return client.id;
}
