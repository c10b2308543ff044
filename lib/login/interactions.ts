import type { Context } from 'koa';
import type { Provider } from 'oidc-provider';

import type { ClientDirectory } from '../clients/directory.ts';
import { typeOfLogo } from '../clients/logo.ts';
import { now } from '../contracts/clock.ts';
import type { Interaction, InteractionFlow, Seconds, User } from '../contracts/index.ts';
import type { ServerParts } from '../contracts/server-parts.ts';
import { InteractionExpiredError } from '../errors.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { redirectHost } from '../clients/redirect-uris.ts';
import type { ScopeLimit } from '../clients/consents.ts';
import { requestedScopes, toScope } from '../token/scopes.ts';
import { askedAccess, decideConsent, describeAccess } from './asked-scopes.ts';
import { createAuthenticate } from './authenticate.ts';
import type { AuthenticationParts } from './authenticate.ts';
import { withoutPrompts } from './authorization-request.ts';
import type { AuthorizationRequest, AuthorizationRequests } from './authorization-request.ts';
import { CONSENT_PROOF, DENIAL, storeConsent, toConsentProof, toDenialProof } from './consent.ts';
import { POSTED } from '../engine/authorization-parameters.ts';
import { PATHS } from '../engine/endpoints.ts';
import type { BrowserRequestOf, HostLogin, LoginSessions, OpenInteraction } from './login-session.ts';
import { besidesDefault } from '../engine/resource-parameter.ts';
import { originOf, requestIdOf } from '../http/request-id.ts';
import { refusalReason } from './origin-mistakes.ts';

/** The parts of the server that the interactions need. */
export interface InteractionParts
  extends
    AuthenticationParts,
    Pick<InteractionFlow, 'authorizedApps' | 'clientKinds' | 'clientSources' | 'features'> {
  readonly apis: ServerParts['apis'];
  readonly browserRequestOf: BrowserRequestOf;
  readonly provider: () => Provider;
  readonly sessions: LoginSessions;
  readonly clients: ClientDirectory;
  readonly requests: AuthorizationRequests;
}

/** Makes the flow that the pages use; `InteractionFlow` documents each step. */
export function createInteractionFlow(options: ResolvedOptions, parts: InteractionParts): InteractionFlow {
  const { apis, audit, browserRequestOf, clients, authorizedApps } = parts;
  const { provider, requests, sessions } = parts;
  const { basePath, login, logger, origin, paths } = options;
  const { storage, users } = options;

  return {
    origin,
    basePath,
    clientKinds: parts.clientKinds,
    clientSources: parts.clientSources,
    features: parts.features,
    accountPath: paths.account,
    async logo(clientId, hash) {
      const picture = await storage.clients.findLogo(clientId, hash);
      return picture && { picture, type: typeOfLogo(picture) };
    },
    // The routers are made after the server.
    get apiUrl() {
      return apis.get(options.issuer);
    },
    authorizedApps,
    refused(ctx, error) {
      const reason = refusalReason(ctx, error, options.origin);
      const reference = requestIdOf(ctx);
      const fields = {
        request_id: reference,
        outcome: 'refused',
        status: error.status,
        error: error.code,
        reason,
      };
      logger.info(fields, 'page refused');
      return reference;
    },
    currentUser: sessions.currentUser,
    loginUrl: sessions.loginUrl,
    pathHere: sessions.pathHere,
    async userToSignOut(ctx) {
      await sessions.findToEnd(browserRequestOf(ctx));
      return sessions.currentUser(ctx);
    },
    logout: sessions.logout,
    async signIn(ctx, user) {
      await sessions.begin(ctx, user);
      audit.record({ type: 'login', userId: user.id }, originOf(ctx));
    },
    async find(ctx, uid) {
      const { request, stored, userId } = await open(ctx, uid);
      const { parameters, prompt } = request;
      return {
        uid,
        prompt,
        client: stored.client,
        user: userId === undefined ? undefined : await users.find(userId),
        ...describeAccess(askedAccess(request, options.issuer), options),
        redirectUri: parameters['redirect_uri']!,
        loginHint: parameters['login_hint'],
        uiLocales: parameters['ui_locales']?.split(' '),
        action: pathOf(uid),
        canSwitchUser: login.currentUser === undefined,
      };
    },
    authenticate: createAuthenticate(options, parts),
    login: async (ctx, { uid }, user) => finishLogin(ctx, await open(ctx, uid, 'login'), user),
    async consent(ctx, { uid }, chosen) {
      const found = await open(ctx, uid, 'consent');
      const { request, stored } = found;
      const asked = askedAccess(request, options.issuer);
      const { granted, limit } = decideConsent(asked, chosen);
      const answered = withScopes(request, granted);
      const next = withoutPrompts(answered, ['login', 'consent']);
      // All that the page asked for was declined: the request continues with the earlier consent, if that still exists.
      if (limit?.length === 0 && granted.length > 0) return requests.urlOf(next);
      await clients.keep(stored, originOf(ctx));
      const host = redirectHost(request.parameters['redirect_uri']!, stored.client);
      const resource = besidesDefault(asked.resource, options.issuer);
      await storeConsent(options, clients, {
        userId: found.userId!,
        sequence: found.sequence!,
        client: stored.client,
        resource,
        limit,
        host,
      });
      recordConsent(ctx, 'consent_given', found, limit);
      const proof = host === undefined ? { [CONSENT_PROOF]: requests.write(toConsentProof(answered)) } : {};
      return requests.urlOf({ ...next, ...proof });
    },
    async deny(ctx, { uid }) {
      const found = await open(ctx, uid, 'consent');
      const { parameters } = found.request;
      const client = await provider().Client.find(found.stored.client.id);
      // The redirect URI may have been removed from the client since the engine checked it.
      if (!client?.redirectUriAllowed(parameters['redirect_uri']!)) throw new InteractionExpiredError();
      const asked = askedAccess(found.request, options.issuer);
      recordConsent(ctx, 'consent_denied', found, decideConsent(asked).limit);
      if (parameters['response_mode'] === POSTED) {
        const proof = requests.write(toDenialProof(found.request));
        return requests.urlOf({
          ...withoutPrompts(found.request, ['login', 'consent']),
          [CONSENT_PROOF]: proof,
        });
      }
      return accessDeniedUrl(parameters, options.issuer);
    },
    async switchUser(ctx, { uid }) {
      const { prompt = '', ...rest } = (await open(ctx, uid, 'consent')).request.parameters;
      const prompts = new Set(['login', ...prompt.split(' ').filter(Boolean)]);
      return requests.urlOf({ ...rest, prompt: [...prompts].join(' ') });
    },
    async skipLogin(ctx, { uid }) {
      const found = await open(ctx, uid, 'login');
      const atHost = await sessions.hostLogin(ctx);
      const { loginAfter } = found.request;
      if (atHost) {
        const { user } = atHost;
        if (!(await users.find(user.id))) {
          // Restarting the request, or redirecting to the host's login page, could loop.
          logger.warn(
            { user_id: user.id },
            'login.currentUser returned a user that users.find does not find',
          );
          return undefined;
        }
        const answer = answerOf(found, atHost);
        if (answer) return finishLogin(ctx, found, user, answer);
        if (login.url !== undefined && loginAfter !== undefined) {
          logger.warn(
            { user_id: user.id },
            'the page at login.url has not had the user log in again, which it has to where the URL has prompt=login',
          );
          return undefined;
        }
      }
      if (login.url === undefined) return undefined;
      const request = { ...found.request, loginAfter: loginAfter ?? newLoginAfter(atHost) };
      const again = atHost || mustLoginAgain(found.request) ? 'again' : undefined;
      return sessions.loginUrl(pathOf(requests.write(request)), again);
    },
  };

  /** The login of a user at the host as an answer to the request that waits for a login. `undefined`: it is none. */
  function answerOf({ request, userId }: OpenInteraction, atHost: HostLogin): HostLogin | undefined {
    const { loginAfter, parameters, reasons } = request;
    const { authenticatedAt = -Infinity, user } = atHost;
    const saysWhen = login.authenticatedAt !== undefined;
    const isNew = loginAfter !== undefined && (!saysWhen || authenticatedAt > loginAfter);
    // A host that does not say when its users have logged in is taken at its word.
    const answer = isNew && !saysWhen ? { user, authenticatedAt: now() } : atHost;
    if (mustLoginAgain(request)) {
      const isYoung =
        !reasons.includes('login_prompt') && now() - authenticatedAt <= Number(parameters['max_age']);
      return isNew || isYoung ? answer : undefined;
    }
    // Where the session is that of this user already, the app means another one.
    return userId === user.id ? undefined : answer;
  }

  function pathOf(uid: string): string {
    return `${basePath}${PATHS.interaction}/${uid}`;
  }

  /**
   * The interaction of a browser, found once for each HTTP request. A consent can only be given in the session that was asked for it.
   *
   * @throws InteractionExpiredError when the URL is invalid or expired, or waits for another prompt; when the session has ended; and
   * when the client was deleted or disabled since the engine checked it
   */
  async function open(ctx: Context, uid: string, prompt?: Interaction['prompt']): Promise<OpenInteraction> {
    const page = browserRequestOf(ctx);
    const known = page.interaction?.uid === uid ? page.interaction : undefined;
    const request = known?.request ?? requests.read(uid);
    if (!request || (prompt !== undefined && request.prompt !== prompt)) throw new InteractionExpiredError();
    if (known) return known;
    const session = await sessions.find(page);
    const isOfSession = session !== undefined && request.session === session.uid;
    if (request.prompt === 'consent' && !isOfSession) throw new InteractionExpiredError();
    const stored = await clients.resolve(request.parameters['client_id']!, ctx.ip);
    if (!stored || stored.client.disabled) throw new InteractionExpiredError();
    const { accountId: userId, sequence } = isOfSession ? session : {};
    return (page.interaction = { uid, request, stored, userId, sequence });
  }

  async function finishLogin(
    ctx: Context,
    { request, stored }: OpenInteraction,
    user: User,
    atHost?: HostLogin,
  ): Promise<string> {
    await sessions.begin(ctx, user, atHost);
    audit.record({ type: 'login', userId: user.id, clientId: stored.client.id }, originOf(ctx));
    return requests.urlOf(withoutPrompts(request, ['login']));
  }

  /** @param limit - what the page asks for */
  function recordConsent(
    ctx: Context,
    type: 'consent_given' | 'consent_denied',
    { request, stored, userId }: OpenInteraction,
    limit: ScopeLimit,
  ): void {
    const resource = besidesDefault(request.parameters['resource'], options.issuer);
    const about = { userId: userId!, clientId: stored.client.id, resource, scopes: limit ?? [] };
    audit.record({ type, ...about }, originOf(ctx));
  }
}

function mustLoginAgain({ reasons }: AuthorizationRequest): boolean {
  return reasons.includes('login_prompt') || reasons.includes('max_age');
}

// In seconds: the host's clock may be behind.
const CLOCK_MARGIN: Seconds = 60;

/** What {@link AuthorizationRequest.loginAfter} is for a browser that is redirected now. */
function newLoginAfter({ authenticatedAt = -Infinity }: Partial<HostLogin> = {}): Seconds {
  return Math.max(authenticatedAt, now() - CLOCK_MARGIN);
}

/** The request with the granted scopes only: it continues as if the client had not requested those that the user has declined. */
function withScopes(request: AuthorizationRequest, granted: readonly string[]): AuthorizationRequest {
  if (granted.length === 0) return request;
  const { parameters } = request;
  return {
    ...request,
    parameters: { ...parameters, scope: toScope(granted, requestedScopes(parameters['scope']))! },
  };
}

/** The redirect URI with an `access_denied` response (RFC 6749 section 4.1.2.1, RFC 9207). */
function accessDeniedUrl(parameters: AuthorizationRequest['parameters'], issuer: string): string {
  const url = new URL(parameters['redirect_uri']!);
  const answer = new URLSearchParams({
    error: 'access_denied',
    error_description: DENIAL,
    ...(parameters['state'] === undefined ? {} : { state: parameters['state'] }),
    iss: issuer,
  });
  if (parameters['response_mode'] === 'fragment') url.hash = answer.toString();
  else for (const [name, value] of answer) url.searchParams.set(name, value);
  return url.href;
}
