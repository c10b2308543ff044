import type { FindAccount, KoaContextWithOIDC } from 'oidc-provider';

import type { AuthorizationRequest } from '../contracts/browser-request.ts';
import { now } from '../contracts/clock.ts';
import type { UserStore } from '../contracts/index.ts';
import type { ServerParts } from '../contracts/server-parts.ts';
import { PATHS } from '../engine/endpoints.ts';
import { errors, interactionPolicy } from '../engine/oidc-provider.ts';
import type { EnginePart } from '../engine/part.ts';
import { engineRequestOf } from '../engine/request.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import type { ImportConsents } from '../clients/consents.ts';
import type { ClientDirectory } from '../clients/directory.ts';
import type { EndMissingUser } from '../token/revoke.ts';
import { consentQuestion, parametersOf } from './asked-scopes.ts';
import type { AuthorizationRequests } from './authorization-request.ts';
import { createLoadGrant, isConsentMissing } from './consent.ts';
import { hasHostLoginChanged } from './login-session.ts';
import { sessionAdapter, sessionEnd } from './session-model.ts';

/** What the engine needs for the login and the consent: the session, the prompts, the pages that ask, and the grant of a consent. */
export function loginPart(
  options: ResolvedOptions,
  {
    clients,
    endMissingUser,
    importConsents,
    requests,
    tools,
  }: {
    readonly clients: ClientDirectory;
    readonly endMissingUser: EndMissingUser;
    readonly importConsents: ImportConsents | undefined;
    readonly requests: AuthorizationRequests;
    readonly tools: ServerParts['tools'];
  },
): EnginePart {
  const { basePath, storage, users } = options;
  const { lifetimes } = options.tokens;
  return {
    models: {
      Session: sessionAdapter(storage.sessions, importConsents),
      // The request is in the URL of its page instead (see authorization-request.ts).
      Interaction: { async upsert() {}, async find() {} },
    },
    configuration: {
      findAccount: createFindAccount(users, endMissingUser),
      loadExistingGrant: createLoadGrant({ ...options, clients, requests }),
      interactions: {
        policy: createPrompts(options.login.currentUser),
        url: async (ctx, { prompt, session }) =>
          `${basePath}${PATHS.interaction}/${requests.start({
            prompt: prompt.name as AuthorizationRequest['prompt'],
            reasons: prompt.reasons,
            parameters: parametersOf(ctx) as Record<string, string>,
            ...(prompt.name === 'consent' ? consentQuestion(ctx, options, tools) : {}),
            ...(session?.accountId !== undefined && { session: session.uid }),
            reference: engineRequestOf(ctx).reference,
          })}`,
      },
      // Else the engine looks for the session of a refresh token that is introspected or revoked.
      expiresWithSession: () => false,
      ttl: {
        Session: (_ctx, session) => Math.max(sessionEnd(session, lifetimes) - now(), 1),
        Interaction: lifetimes.interaction,
      },
    },
  };
}

/**
 * Finds the engine's account of a user. A user who was removed has none: the session that led here is ended with all others of the
 * user, because the id may be given to somebody else.
 */
function createFindAccount(users: UserStore, endMissingUser: EndMissingUser): FindAccount {
  return async (_ctx, accountId) => {
    if (await users.find(accountId)) return { accountId, claims: async () => ({ sub: accountId }) };
    await endMissingUser(accountId);
    return undefined;
  };
}

/** The prompts for login and consent: the engine's checks, and checks of this server. */
function createPrompts(
  currentUser: ResolvedOptions['login']['currentUser'],
): interactionPolicy.DefaultPolicy {
  const { Check, base } = interactionPolicy;
  const policy = base();
  const login = policy.get('login')!;
  const consent = policy.get('consent')!;
  // Logging in again would not give another one: the host decides.
  login.checks.remove('essential_acr');
  login.checks.remove('essential_acrs');
  login.checks.add(new Check('acr_unmet', 'the acr cannot be met', 'login_required', refuseUnmetAcr));
  login.checks.add(
    new Check('user_gone', 'the user does not exist any more', 'login_required', isUserMissing),
  );
  if (currentUser) {
    login.checks.add(
      new Check('host_session', 'the login of the host has changed', 'login_required', async (ctx) =>
        isHostLoginNeeded(ctx, currentUser),
      ),
    );
  }
  // The scopes about who the user is are consented to as those of an API are, and claims are given with their scopes only.
  consent.checks.remove('op_scopes_missing');
  consent.checks.remove('op_claims_missing');
  // RFC 9396 is not offered. The check for native clients requires consent at each request, but a stored consent is valid for
  // them too.
  consent.checks.remove('rar_prompt');
  consent.checks.remove('native_client_prompt');
  consent.checks.add(
    new Check('no_consent', 'consent was never given', 'consent_required', isConsentMissing),
  );
  return policy;
}

/**
 * Refuses a request whose essential `acr` (OpenID Connect Core 1.0 section 5.5.1.1) the login session does not have.
 *
 * @throws CustomOIDCProviderError of OpenID Connect Core Error Code unmet_authentication_requirements 1.0
 */
function refuseUnmetAcr({ oidc: { acr, claims, session } }: KoaContextWithOIDC): boolean {
  const wanted: unknown = (claims as { id_token?: { acr?: unknown } }).id_token?.acr;
  const { essential, value, values } = Object(wanted) as { [name: string]: unknown };
  const named = Array.isArray(values) ? values : value === undefined ? [] : [value];
  if (essential !== true || session?.accountId === undefined || named.length === 0 || named.includes(acr))
    return false;
  throw new errors.CustomOIDCProviderError(
    'unmet_authentication_requirements',
    'the user has not logged in with the acr that the request names as essential',
  );
}

/** Without this check the engine would look for the grant of a deleted user, and fail. */
function isUserMissing(ctx: KoaContextWithOIDC): boolean {
  return ctx.oidc.session?.accountId !== undefined && ctx.oidc.account === undefined;
}

/** The host's session takes precedence: another user there, or a logout there, requires a login here. */
async function isHostLoginNeeded(
  ctx: KoaContextWithOIDC,
  currentUser: NonNullable<ResolvedOptions['login']['currentUser']>,
): Promise<boolean> {
  const { session, result } = ctx.oidc;
  if (result?.login || !session?.accountId) return false;
  return hasHostLoginChanged(await currentUser(engineRequestOf(ctx).host), session);
}
