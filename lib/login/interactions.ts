import type { Context } from 'koa';
import type { Provider } from 'oidc-provider';

import type { ClientDirectory } from '../clients/directory.ts';
import type { AuthorizationRequest, OpenInteraction } from '../contracts/browser-request.ts';
import { now } from '../contracts/clock.ts';
import type { Assignment, AuditLog, ConsentForm, Seconds, User } from '../contracts/index.ts';
import type { ServerParts } from '../contracts/server-parts.ts';
import { InteractionExpiredError } from '../errors.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { redirectHost } from '../clients/redirect-uris.ts';
import type { ScopeLimit } from '../clients/consents.ts';
import { requestedScopes, toScope } from '../token/scopes.ts';
import { askedAccess, decideConsent, describeAccess, isNothingLeft } from './asked-scopes.ts';
import { withoutPrompts } from './authorization-request.ts';
import type { AuthorizationRequests } from './authorization-request.ts';
import { DENIAL, storeConsent, toConsentProof, toDenialProof } from './consent.ts';
import { POSTED } from '../engine/authorization-parameters.ts';
import { PATHS } from '../engine/endpoints.ts';
import type { BrowserRequestOf, HostLogin, LoginSessions } from './login-session.ts';
import { besidesDefault } from '../engine/resource-parameter.ts';
import { originOf } from '../http/request.ts';

/** The parts of the server that the interactions need. */
export interface InteractionParts {
  readonly audit: Pick<AuditLog, 'record'>;
  readonly browserRequestOf: BrowserRequestOf;
  readonly provider: () => Provider;
  readonly sessions: LoginSessions;
  readonly clients: ClientDirectory;
  readonly requests: AuthorizationRequests;
  readonly userAssignments: { of(user: User): Promise<Assignment> };
  readonly tools: ServerParts['tools'];
}

/** What a user can do in an open login or consent. Each step resolves to the URL to redirect to with 303. */
export interface InteractionSteps {
  /**
   * The interaction of a browser, found once for each HTTP request. A consent can only be given in the session that was asked for it.
   *
   * @throws InteractionExpiredError when the URL is invalid or expired; when the session has ended; and when the client was deleted or
   * disabled since the engine checked it
   */
  open(ctx: Context, uid: string): Promise<OpenInteraction>;
  /** The path of its page. */
  pathOf(uid: string): string;
  /**
   * The URL to redirect to instead of showing the login page: the next step when the host's session has a user, or else the
   * host's own login page. `undefined`: show the login page.
   */
  skipLogin(ctx: Context, open: OpenInteraction): Promise<string | undefined>;
  /** Completes the login with this user. */
  login(ctx: Context, open: OpenInteraction, user: User): Promise<string>;
  /** What the consent page asks for, and of whom. */
  describeConsent(open: OpenInteraction): Promise<AskedConsent>;
  /**
   * Stores the consent and continues the authorization. Resolves to `undefined`, and stores nothing, when no scope would be left.
   *
   * @param chosen - the names of the scopes that the user grants of those that are `optional`. The others are granted in any case.
   * @throws ConsentInvalidError for a scope that was not requested
   */
  consent(ctx: Context, open: OpenInteraction, chosen: readonly string[]): Promise<string | undefined>;
  /** Ends the authorization with `access_denied`. */
  deny(ctx: Context, open: OpenInteraction): Promise<string>;
  /** "Not you?": starts the same request again with the login page. */
  switchUser(ctx: Context, open: OpenInteraction): Promise<string>;
}

export type AskedConsent = Pick<
  ConsentForm,
  'user' | 'resource' | 'scopes' | 'permissions' | 'lifetime' | 'remembered' | 'canSwitchUser'
>;

/** Makes the steps of logins and consents; `InteractionSteps` documents each of them. */
export function createInteractionSteps(options: ResolvedOptions, parts: InteractionParts): InteractionSteps {
  const { audit, browserRequestOf, clients, provider, requests, sessions, tools, userAssignments } = parts;
  const { basePath, login, logger, users } = options;

  return {
    async open(ctx, uid) {
      const page = browserRequestOf(ctx);
      if (page.interaction?.uid === uid) return page.interaction;
      const request = requests.read(uid);
      if (!request) throw new InteractionExpiredError();
      const session = await sessions.find(page);
      const isOfSession = session !== undefined && request.session === session.uid;
      if (request.prompt === 'consent' && !isOfSession) throw new InteractionExpiredError();
      const stored = await clients.resolve(request.parameters['client_id']!, ctx.ip);
      if (!stored || stored.client.disabled) throw new InteractionExpiredError();
      const { accountId: userId, sequence } = isOfSession ? session : {};
      return (page.interaction = { uid, request, stored, userId, sequence });
    },
    pathOf,
    async skipLogin(ctx, open) {
      const atHost = await sessions.hostLogin(ctx);
      const { loginAfter } = open.request;
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
        const answer = answerOf(open, atHost);
        if (answer) return finishLogin(ctx, open, user, answer);
        if (login.url !== undefined && loginAfter !== undefined) {
          logger.warn(
            { user_id: user.id },
            'the page at login.url has not had the user log in again, which it has to where the URL has prompt=login',
          );
          return undefined;
        }
      }
      if (login.url === undefined) return undefined;
      const request = { ...open.request, loginAfter: loginAfter ?? newLoginAfter(atHost) };
      const prompt = atHost || mustLoginAgain(open.request) ? 'login' : undefined;
      return sessions.loginUrl(pathOf(requests.write(request)), { prompt });
    },
    login: finishLogin,
    async describeConsent({ request, stored: { client }, userId }) {
      const asked = askedAccess(request, options.issuer);
      const user = userId === undefined ? undefined : await users.find(userId);
      const of = {
        client,
        tools: tools.get(asked.resource),
        assignment: async () => user && userAssignments.of(user),
      };
      return {
        user,
        ...(await describeAccess(asked, of, options)),
        remembered: redirectHost(request.parameters['redirect_uri']!, client) !== undefined,
        canSwitchUser: login.currentUser === undefined || login.logout !== undefined,
      };
    },
    async consent(ctx, open, chosen) {
      const { request, stored } = open;
      const asked = askedAccess(request, options.issuer);
      const scopes = asked.scopes.map((name) => ({ optional: asked.optional.includes(name) }));
      if (isNothingLeft(scopes, chosen)) return undefined;
      const { granted, limit } = decideConsent(asked, chosen);
      const answered = withScopes(request, granted);
      const next = withoutPrompts(answered, ['login', 'consent']);
      // All that the page asked for was declined: the request continues with the earlier consent, if that still exists.
      if (limit?.length === 0 && granted.length > 0) return requests.urlOf(next);
      await clients.keep(stored, originOf(ctx));
      const host = redirectHost(request.parameters['redirect_uri']!, stored.client);
      const resource = besidesDefault(asked.resource, options.issuer);
      await storeConsent(options, clients, {
        userId: open.userId!,
        sequence: open.sequence!,
        client: stored.client,
        resource,
        limit,
        host,
      });
      recordConsent(ctx, 'consent_given', open, limit);
      return requests.urlOf(next, host === undefined ? toConsentProof(answered) : undefined);
    },
    async deny(ctx, open) {
      const { parameters } = open.request;
      const client = await provider().Client.find(open.stored.client.id);
      // The redirect URI may have been removed from the client since the engine checked it.
      if (!client?.redirectUriAllowed(parameters['redirect_uri']!)) throw new InteractionExpiredError();
      const asked = askedAccess(open.request, options.issuer);
      recordConsent(ctx, 'consent_denied', open, decideConsent(asked).limit);
      if (parameters['response_mode'] === POSTED) {
        const next = withoutPrompts(open.request, ['login', 'consent']);
        return requests.urlOf(next, toDenialProof(open.request));
      }
      return accessDeniedUrl(parameters, options.issuer);
    },
    async switchUser(ctx, { request }) {
      // Else the host would name the same user again.
      if (login.currentUser && login.logout) await sessions.logout(ctx);
      const { prompt = '', ...rest } = request.parameters;
      const prompts = new Set(['login', ...prompt.split(' ').filter(Boolean)]);
      return requests.urlOf({ ...request, parameters: { ...rest, prompt: [...prompts].join(' ') } });
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

  async function finishLogin(
    ctx: Context,
    { request, stored }: OpenInteraction,
    user: User,
    atHost?: HostLogin,
  ): Promise<string> {
    const session = await sessions.begin(ctx, user, atHost);
    audit.record({ type: 'login', userId: user.id, clientId: stored.client.id }, originOf(ctx));
    return requests.urlOf({ ...withoutPrompts(request, ['login']), session });
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
