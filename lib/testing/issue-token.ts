import type { AuthServer } from '../server/auth-server.ts';
import type { Client, Duration, User } from '../contracts/index.ts';

/** The user or client of a token, and its options. */
export type TokenRequest = {
  /** @default [] */
  readonly scopes?: readonly string[];
  /** The API that the token is for, one of the option `resources`. @default the issuer */
  readonly resource?: string;
  /** At most the server's lifetime of access tokens, which is the default. */
  readonly lifetime?: Duration;
} & (
  | {
      /** A user of the user store. */
      readonly user: User;
      /** The registered client of the token. @default one named "Test client", which is registered at the first use */
      readonly client?: Client;
    }
  | {
      readonly user?: undefined;
      /** A registered client that acts for itself. */
      readonly client: Client;
    }
);

/**
 * Issues an access token without a login, for tests that send a token. It calls `auth.issueToken()`, whose errors it throws;
 * for a user without a client, it registers a test client.
 *
 * @example
 * import { issueToken } from 'koa-gatehouse/testing';
 * const token = await issueToken(auth, { user: ann, scopes: ['schools:read'] });
 * await request(app.callback()).get('/api/v1/schools').auth(token, { type: 'bearer' });
 */
export async function issueToken(auth: AnyAuthServer, given: TokenRequest): Promise<string> {
  const { client, user, ...rest } = given;
  return auth.issueToken({
    ...rest,
    clientId: client?.id ?? (await testClientOf(auth)),
    ...(user && { userId: user.id }),
  });
}

/** Any server of `createAuthServer()`, whatever its types of permissions and users. */
export type AnyAuthServer = Pick<AuthServer, 'clients' | 'issueToken'>;

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
