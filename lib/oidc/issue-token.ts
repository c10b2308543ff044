import { randomBytes, randomUUID } from 'node:crypto';

import type { Provider } from 'oidc-provider';

import { now } from '../contracts/clock.ts';
import type { Storage } from '../contracts/index.ts';
import type { ResolvedOptions } from '../options/options.ts';
import { hashCredential } from '../keys/hash.ts';

/** What a token is to say. */
export interface TokenOrder {
  /** A registered client. */
  readonly clientId: string;
  /** The user it acts for; `undefined`: it acts for itself. */
  readonly userId: string | undefined;
  readonly scopes: readonly string[];
  /** In seconds. @default the server's lifetime of access tokens */
  readonly lifetime: number | undefined;
}

/** Issues an access token without a request. Resolves to `undefined` when the client is unknown or disabled. */
export type IssueToken = (order: TokenOrder) => Promise<string | undefined>;

/**
 * Makes the function that issues access tokens without a request: the engine signs them as any other. A user's gets a grant
 * of its own, so that whatever revokes tokens of users revokes it.
 */
export function createIssueToken(
  { issuer, lifetimes, signingAlgorithm }: Pick<ResolvedOptions, 'issuer' | 'lifetimes' | 'signingAlgorithm'>,
  { provider, storage }: { provider: () => Provider; storage: Pick<Storage, 'credentials' | 'revocations'> },
): IssueToken {
  return async function issueToken({ clientId, lifetime = lifetimes.accessToken, scopes, userId }) {
    const { AccessToken, Client, ClientCredentials, ResourceServer } = provider();
    const client = await Client.find(clientId);
    if (!client) return undefined;
    const scope = scopes.join(' ');
    const resourceServer = new ResourceServer(issuer, {
      scope,
      audience: issuer,
      accessTokenFormat: 'jwt',
      jwt: { sign: { alg: signingAlgorithm } },
    });
    const common = { client, resourceServer, scope, expiresIn: lifetime };
    if (userId === undefined) return new ClientCredentials(common).save();
    const grantId = await startGrant({ clientId, userId, scopes, lifetime });
    const token = new AccessToken({ ...common, accountId: userId, grantId, gty: 'authorization_code' });
    return token.save();
  };

  /** A grant whose code nobody has, and which lasts as long as the token. */
  async function startGrant({
    clientId,
    lifetime,
    scopes,
    userId,
  }: {
    clientId: string;
    userId: string;
    scopes: readonly string[];
    lifetime: number;
  }): Promise<string> {
    const id = randomUUID();
    const sequence = await storage.revocations.sequence();
    const createdAt = now();
    const expiresAt = createdAt + lifetime;
    await storage.credentials.start(
      { id, userId, clientId, scopes, createdAt, expiresAt, revokedAt: undefined, sequence },
      {
        kind: 'code',
        id: hashCredential(randomBytes(32).toString('base64url')),
        grantId: id,
        payload: {},
        expiresAt,
        consumedAt: createdAt * 1000,
        sealedSuccessor: undefined,
      },
    );
    return id;
  }
}
