import type { KoaContextWithOIDC } from 'oidc-provider';

import type { Seconds } from '../../contracts/index.ts';
import { errors } from '../../engine/oidc-provider.ts';
import type { AuthenticatedTokenRequest, GrantType } from '../../engine/part.ts';
import { TooManyAttempts } from '../../engine/refusals.ts';
import { originOf } from '../../http/request.ts';
import type { ResolvedOptions } from '../../options/resolved-options.ts';
import { effectiveLifetimes, respond } from '../../token/access-token.ts';
import { clientCredentialsGrant } from '../../token/client-credentials-grant.ts';
import { requireParameters } from '../../token/exchange.ts';
import type { GrantParts } from '../../token/exchange.ts';
import type { Core } from '../core.ts';
import { createGrantOf } from './allowed.ts';
import { checkClaims, notAccepted, readAssertion, verifySignature } from './assertion.ts';
import type { UnverifiedAssertion } from './assertion.ts';
import { accessOf } from './id-jag.ts';
import type { FindIssuerKeys } from './keys.ts';
import { forgedLimit } from './limits.ts';
import { isSpentAgain, useOf } from './once.ts';
import type { IdJagSettings, Issuers, WorkloadSettings } from './options.ts';
import { JWT_BEARER } from './types.ts';
import type { AllowedGrantStore, AssertionClaims } from './types.ts';
import { ruleFor } from './workload.ts';

/** What the grant needs besides the core. */
export interface AssertionParts extends GrantParts {
  readonly findKeys: FindIssuerKeys;
  readonly issuers: Issuers;
  readonly store: AllowedGrantStore;
}

/** An assertion whose signature and whose claims for both profiles were verified. */
interface VerifiedAssertion<S> {
  readonly claims: AssertionClaims;
  readonly settings: S;
  readonly value: string;
}

/** What the audit record says of an accepted assertion besides. */
interface Accepted {
  readonly userId?: string;
  readonly isRepeated: boolean;
}

/**
 * The grant of assertions (RFC 7523 section 2.1): of a user by the identity provider of an organization (ID-JAG), and of a workload, which
 * speaks for a client and authenticates it. There is no refresh token, and an access token lives an hour at most: the issuer decides again
 * each time.
 */
export function assertionGrant(core: Core, parts: AssertionParts): GrantType {
  const { audit } = core;
  const options = withShortTokens(core.options);
  const { findKeys, issuers, signAccessToken, store } = parts;
  const { issuer, limits, tokens } = options;
  const ofSecrets = limits.attempts && limits.attempts.clientAuthentication;
  const forged = ofSecrets ? core.limiterOf(forgedLimit(ofSecrets)) : undefined;
  const grantOf = createGrantOf(options, store);

  /** Verifies the signature. Nothing is fetched for an issuer that is not trusted. */
  async function verify(
    value: string,
    address: string,
  ): Promise<Omit<VerifiedAssertion<IdJagSettings | WorkloadSettings>, 'claims'> & UnverifiedAssertion> {
    const assertion = readAssertion(value);
    if (!assertion) throw notAccepted('it is not a signed JWT');
    const { claims, header, profile } = assertion;
    const settings = typeof claims['iss'] === 'string' ? issuers.get(claims['iss']) : undefined;
    if (!settings) throw notAccepted('its issuer is not trusted');
    if (settings.profile !== profile) throw notAccepted('its typ is not that of the profile of its issuer');
    const keyId = typeof header.kid === 'string' ? header.kid : undefined;
    await verifySignature(assertion, await findKeys(settings, keyId, address));
    return { ...assertion, settings };
  }

  /** Counts an assertion that no issuer has signed. @throws TooManyAttempts of the engine when there were too many */
  async function countForged<T>(address: string, verifying: () => Promise<T>): Promise<T> {
    try {
      forged?.check({ address });
      return await verifying().catch(async (error: unknown) => {
        if (error instanceof errors.InvalidGrant) await forged?.take({ address });
        throw error;
      });
    } catch (error) {
      throw TooManyAttempts.instead(error, 'assertions that no issuer has signed');
    }
  }

  async function acceptIdJag(
    ctx: KoaContextWithOIDC,
    request: AuthenticatedTokenRequest,
    { claims, settings, value }: VerifiedAssertion<IdJagSettings>,
  ): Promise<Accepted> {
    const access = accessOf(ctx, request, { claims, options, settings });
    const use = useOf(claims, value, request.clientSequence);
    const user = await settings.findUser(claims, { issuer: settings.issuer });
    if (!user) throw notAccepted('findUser() finds no user');
    const { id, isRepeated } = await grantOf(request, { access, claims, use, user });
    const { client } = request.client;
    const lifetime = effectiveLifetimes(client, access.api.lifetimes).accessToken;
    const content = { ...access, client, grant: { id, user }, lifetime, assertedBy: settings.issuer };
    respond(ctx, request, { accessToken: await signAccessToken(content), content });
    return { userId: user.id, isRepeated };
  }

  async function acceptWorkload(
    ctx: KoaContextWithOIDC,
    request: AuthenticatedTokenRequest,
    { claims, settings, value }: VerifiedAssertion<WorkloadSettings>,
  ): Promise<Accepted> {
    const { client } = request.client;
    if (client.grantType !== 'client_credentials')
      throw new errors.UnauthorizedClient('workloads speak for clients that act for themselves only');
    if (!ruleFor(settings, claims, { client: client.id, issuer }))
      throw notAccepted('no rule lets it speak for the client');
    const use = settings.once ? useOf(claims, value, request.clientSequence) : undefined;
    let isRepeated = false;
    // The token that the client gets for itself. Nothing refuses the request any more when it is signed.
    const ofClient = clientCredentialsGrant({
      ...parts,
      options,
      async signAccessToken(content) {
        if (use) isRepeated = await isSpentAgain(store, { ...use, grantId: undefined }, tokens.refreshGrace);
        return signAccessToken({ ...content, assertedBy: settings.issuer });
      },
    });
    await ofClient.handle(ctx, request);
    return { isRepeated };
  }

  return {
    name: JWT_BEARER,
    parameters: ['assertion', 'scope', 'resource', 'authorization_details'],
    clientOf(parameters) {
      const { claims, profile } = readAssertion(parameters.get('assertion')) ?? {};
      const settings = profile === 'workload' ? issuers.get(String(claims?.['iss'])) : undefined;
      if (settings?.profile !== 'workload') return undefined;
      return parameters.get('client_id') ?? ruleFor(settings, claims!, { client: undefined, issuer })?.client;
    },
    async handle(ctx, request) {
      const { assertion: value, authorization_details: details } = requireParameters(ctx, 'assertion');
      if (details !== undefined) throw new errors.InvalidRequest('authorization_details are not supported');
      const { ip } = request.host;
      const verified = await countForged(ip, async () => verify(value, ip));
      const { settings } = verified;
      const claims = checkClaims(verified.claims);
      const { isRepeated, userId } =
        settings.profile === 'id-jag'
          ? await acceptIdJag(ctx, request, { claims, settings, value })
          : await acceptWorkload(ctx, request, { claims, settings, value });
      audit.record(
        {
          type: 'assertion_accepted',
          clientId: request.client.client.id,
          userId,
          issuer: settings.issuer,
          subject: claims.sub,
          actor: actorOf(claims),
          ...(isRepeated && { isRepeated }),
        },
        originOf(request.host),
      );
    },
  };
}

// Its next token needs another assertion, which an issuer does not give to a user who has left.
const LONGEST_TOKEN: Seconds = 3600;

/** The options by which an access token for an assertion lives an hour at most, whatever others of its API do. */
function withShortTokens(options: ResolvedOptions): ResolvedOptions {
  const resources = Array.from(options.resources, ([url, api]) => {
    const accessToken = Math.min(api.lifetimes.accessToken, LONGEST_TOKEN);
    return [url, { ...api, lifetimes: { ...api.lifetimes, accessToken } }] as const;
  });
  return { ...options, resources: new Map(resources) };
}

const LONGEST_ACTOR = 255;

function actorOf({ act }: AssertionClaims): string | undefined {
  const { sub } = Object(act) as { readonly sub?: unknown };
  return typeof sub === 'string' ? sub.slice(0, LONGEST_ACTOR) : undefined;
}
