// The issuers of the tests, which sign assertions; nothing listens at their URLs.
import { randomUUID } from 'node:crypto';

import { SignJWT } from 'jose';
import { trustedIssuers } from 'koa-gatehouse';
import type { AuthServer } from 'koa-gatehouse';

import type {
  IdJagIssuer,
  TrustedIssuerOptions,
  WorkloadIssuer,
} from '../../lib/features/trusted-issuers/options.ts';
import type { WithTrustedIssuers } from '../../lib/features/trusted-issuers/index.ts';
import { makeKeyPair } from '../harness/client-keys.ts';
import type { ClientKeyPair } from '../harness/client-keys.ts';
import { BOTH_SCOPES, people, startPlatform } from '../harness/platform.ts';
import type { Mounting, Platform, RegisteredApp, TokenAnswer } from '../harness/platform.ts';
import { asClient } from '../harness/tokens.ts';

export const IDP = 'https://idp.district.example';
export const CI = 'https://ci.example';
export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

let keys: Promise<ClientKeyPair> | undefined;

/** The key with which both issuers sign, unless a test gives another one. */
export const issuerKeys = async (): Promise<ClientKeyPair> => (keys ??= makeKeyPair('issuer-1'));

/** The answer to an assertion that is not accepted. */
export const REFUSED = {
  error: 'invalid_grant',
  error_description: 'the assertion is not accepted',
} as const;

/** The options of both issuers; a test changes some. The CI is left out where it has no rules. */
export interface Trusted {
  readonly idp?: Partial<IdJagIssuer>;
  readonly ci?: Partial<WorkloadIssuer> & Pick<WorkloadIssuer, 'rules'>;
  /** Other issuers. */
  readonly more?: TrustedIssuerOptions;
}

export type TrustedPlatform = Platform & { readonly auth: WithTrustedIssuers };

/** The feature. The `sub` of a user is the user's first name in lower case. */
export async function trusting({ ci, idp, more = {} }: Trusted = {}): Promise<
  ReturnType<typeof trustedIssuers>
> {
  const published = { keys: [(await issuerKeys()).publicJwk] };
  return trustedIssuers({
    [IDP]: {
      profile: 'id-jag',
      keys: published,
      scopes: ['schools:read'],
      findUser: ({ sub }) => people().all.find(({ name }) => name?.toLowerCase() === sub),
      ...idp,
    },
    ...(ci && { [CI]: { profile: 'workload', keys: published, ...ci } }),
    ...more,
  });
}

/** A platform that trusts the identity provider, and the CI where there are rules. */
export async function startTrusted(
  trusted: Trusted = {},
  given: Parameters<typeof startPlatform>[0] = {},
  mounting: Mounting = {},
): Promise<TrustedPlatform> {
  const features = [await trusting(trusted), ...(given.features ?? [])];
  const platform = await startPlatform({ scopes: BOTH_SCOPES, ...given, features }, mounting);
  return platform as TrustedPlatform;
}

/** Claims or members of a header; `undefined` leaves one out. */
type Given = Readonly<Record<string, unknown>>;

/** How an assertion is signed. */
export interface Signing {
  readonly header?: Given;
  readonly pair?: ClientKeyPair;
}

const withoutUndefined = (given: Given): Given =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));

/** Signs claims as an issuer does. */
async function sign(claims: Given, { header = {}, pair }: Signing = {}): Promise<string> {
  const { algorithm, privateKey, publicJwk } = pair ?? (await issuerKeys());
  const at = Math.floor(Date.now() / 1000);
  const complete = withoutUndefined({ jti: randomUUID(), iat: at, exp: at + 300, ...claims });
  const protectedHeader = withoutUndefined({ alg: algorithm, kid: publicJwk.kid, ...header });
  return new SignJWT(complete)
    .setProtectedHeader(protectedHeader as { readonly alg: string })
    .sign(privateKey);
}

/** An ID-JAG for Ann and an app. */
export async function idJag(
  { auth }: { readonly auth: Pick<AuthServer, 'issuer'> },
  { client }: { readonly client: Pick<RegisteredApp['client'], 'id'> },
  claims: Given = {},
  { header, pair }: Signing = {},
): Promise<string> {
  const own = { iss: IDP, sub: 'ann', aud: auth.issuer, client_id: client.id, scope: 'schools:read' };
  const typed = { typ: 'oauth-id-jag+jwt', ...header };
  return sign({ ...own, ...claims }, { header: typed, ...(pair && { pair }) });
}

/** The `sub` of a job of the CI, on the main branch of a repository with the `repository_id` 42. */
export const JOB = 'repo:acme/app:ref:refs/heads/main';

/** The assertion of a job of the CI. */
export async function jobToken(
  { auth }: { readonly auth: Pick<AuthServer, 'issuer'> },
  claims: Given = {},
  { header, pair }: Signing = {},
): Promise<string> {
  const own = { iss: CI, sub: JOB, aud: auth.issuer, repository_id: '42', event_name: 'push' };
  return sign({ ...own, ...claims }, { header: { typ: 'JWT', ...header }, ...(pair && { pair }) });
}

/** Presents an assertion as an app with a secret. */
export async function present(
  platform: Pick<Platform, 'token'>,
  app: Pick<RegisteredApp, 'client' | 'secret'>,
  assertion: string,
  more: Given = {},
): Promise<TokenAnswer> {
  return platform.token({ grant_type: JWT_BEARER, ...asClient(app), assertion, ...more });
}

/** Presents the assertion of a workload, which authenticates the client. */
export async function presentJob(
  platform: Pick<Platform, 'token'>,
  assertion: string,
  more: Given = {},
): Promise<TokenAnswer> {
  return platform.token({ grant_type: JWT_BEARER, assertion, ...more });
}

/** The reason of the last refused token request, which only the audit log says. */
export async function lastReason({ auth }: Pick<Platform, 'auth'>): Promise<string | undefined> {
  const [last] = await auth.audit.list({ types: ['token_refused'], limit: 1 });
  return last && 'reason' in last ? last.reason : undefined;
}
