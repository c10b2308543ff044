import type { Context } from 'koa';

import type { DocumentDirectory } from '../clients/metadata-documents.ts';
import { now } from '../contracts/clock.ts';
import type { Interaction, InteractionFlow, StoredClient, User } from '../contracts/index.ts';
import { InteractionExpiredError } from '../errors.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { requestedScopes, scopesToConsent, withGrantedScopes } from './asked-scopes.ts';
import { createAuthenticate } from './authenticate.ts';
import type { AuthenticationParts } from './authenticate.ts';
import { withoutPrompts } from './authorization-request.ts';
import type { AuthorizationRequest, AuthorizationRequests } from './authorization-request.ts';
import { CONSENT_PROOF, rememberConsent, toConsentProof } from './consent.ts';
import { ENDPOINTS } from './endpoints.ts';
import { createLoginSessions } from './login-session.ts';
import { HOST_LOGIN } from './prompts.ts';
import { besidesDefault } from './resource-parameter.ts';
import { originOf } from './request-facts.ts';

/** The parts of the server that the interactions need. */
export interface InteractionParts
  extends AuthenticationParts, Pick<InteractionFlow, 'authorizedApps' | 'developer'> {
  readonly clients: DocumentDirectory;
  readonly requests: AuthorizationRequests;
  readonly devices: InteractionFlow['devices'];
}

/** An authorization request that waits for this browser. */
interface OpenInteraction {
  readonly request: AuthorizationRequest;
  /** The user who is logged in on the browser that sent the request. */
  readonly userId: string | undefined;
}

/** Makes the flow that the pages use; `InteractionFlow` documents each step. */
export function createInteractionFlow(options: ResolvedOptions, parts: InteractionParts): InteractionFlow {
  const { audit, clients, authorizedApps, developer, devices, provider, requests } = parts;
  const { accountPath, basePath, currentUser, developerPath, logger, loginUrl, origin } = options;
  const { storage, users } = options;
  const sessions = createLoginSessions(options, { audit, provider });
  const verified = new WeakMap<Context, { readonly uid: string; readonly request: AuthorizationRequest }>();
  const authenticate = createAuthenticate(options, {
    ...parts,
    beforePassword: sessions.beforePassword,
    clientIdOf: async (ctx) => {
      const uid = INTERACTION_PATH.exec(ctx.path)?.[1];
      return uid === undefined ? undefined : (await read(ctx, uid))?.parameters['client_id'];
    },
  });

  return {
    origin,
    basePath,
    devices,
    developerPath,
    accountPath,
    developer,
    authorizedApps,
    currentUser: sessions.currentUser,
    loginUrl: sessions.loginUrl,
    pathHere: sessions.pathHere,
    logout: sessions.logout,
    async signIn(ctx, user) {
      await sessions.begin(ctx, user);
      audit.record({ type: 'login', userId: user.id }, originOf(ctx));
    },
    async find(ctx, uid) {
      return describe(ctx, await findOpen(ctx, uid), uid);
    },
    authenticate,
    login: (ctx, { uid }, user) => finishLogin(ctx, uid, user),
    async consent(ctx, { uid }, chosen) {
      const { request: asked, userId } = await findOpen(ctx, uid, 'consent');
      const answered = { request: withGrantedScopes(asked, chosen), userId };
      const { consent, request } = pendingConsent(answered, options.issuer);
      const next = withoutPrompts(request, ['login', 'consent']);
      // All that the page asked for was declined: the request continues with the earlier consent, if that still exists.
      if (consent.scopes.length === 0 && requestedScopes(request).length > 0) return requests.urlOf(next);
      const stored = await enabledClient(ctx, request);
      await clients.keep(stored, originOf(ctx));
      const isRemembered = await rememberConsent(storage.consents, {
        ...consent,
        client: stored.client,
        limited: isLimited(request),
        redirectUri: request.parameters['redirect_uri']!,
        at: now(),
      });
      audit.record({ type: 'consent_given', ...consent }, originOf(ctx));
      const proof = isRemembered ? {} : { [CONSENT_PROOF]: await requests.write(toConsentProof(request)) };
      return requests.urlOf({ ...next, ...proof });
    },
    async deny(ctx, { uid }) {
      const { consent, request } = pendingConsent(await findOpen(ctx, uid, 'consent'), options.issuer);
      await checkRedirectUri(ctx, request);
      audit.record({ type: 'consent_denied', ...consent }, originOf(ctx));
      return accessDeniedUrl(request.parameters, options.issuer);
    },
    async switchUser(ctx, { uid }) {
      const { parameters } = (await findOpen(ctx, uid, 'consent')).request;
      const { prompt = '', ...rest } = parameters;
      const prompts = new Set(['login', ...prompt.split(' ').filter(Boolean)]);
      return requests.urlOf({ ...rest, prompt: [...prompts].join(' ') });
    },
    async skipLogin(ctx, { uid }) {
      const request = await requestAt(ctx, uid, 'login');
      const user = await currentUser?.(ctx);
      const { reasons, wasSentToLogin } = request;
      const mustLoginAgain = reasons.includes('login_prompt') || reasons.includes('max_age');
      if (user) {
        if (mustLoginAgain && wasSentToLogin !== true) return undefined;
        if (await users.find(user.id)) return finishLogin(ctx, uid, user, [HOST_LOGIN]);
        // Restarting the request, or redirecting to the host's login page, could loop.
        logger.warn({ user_id: user.id }, 'currentUser returned a user that users.find does not find');
        return undefined;
      }
      if (loginUrl === undefined) return undefined;
      return sessions.loginUrl(pathOf(await requests.write({ ...request, wasSentToLogin: true })));
    },
  };

  function pathOf(uid: string): string {
    return `${basePath}${ENDPOINTS.interaction}/${uid}`;
  }

  /** The authorization request in a URL, verified once per HTTP request. */
  async function read(ctx: Context, uid: string): Promise<AuthorizationRequest | undefined> {
    const known = verified.get(ctx);
    if (known?.uid === uid) return known.request;
    const request = await requests.read(uid);
    if (request) verified.set(ctx, { uid, request });
    return request;
  }

  /** The same. @throws InteractionExpiredError when it is invalid or expired, or waits for another prompt */
  async function requestAt(
    ctx: Context,
    uid: string,
    prompt?: Interaction['prompt'],
  ): Promise<AuthorizationRequest> {
    const request = await read(ctx, uid);
    if (!request || (prompt !== undefined && request.prompt !== prompt)) throw new InteractionExpiredError();
    return request;
  }

  /** The interaction of a browser. A consent can only be given in the session that was asked for it. */
  async function findOpen(
    ctx: Context,
    uid: string,
    prompt?: Interaction['prompt'],
  ): Promise<OpenInteraction> {
    const request = await requestAt(ctx, uid, prompt);
    const session = await provider().Session.get(ctx);
    const isOfSession = request.session !== undefined && request.session.uid === session.uid;
    if (request.prompt === 'consent' && !isOfSession) throw new InteractionExpiredError();
    return { request, userId: isOfSession ? session.accountId : undefined };
  }

  /** The redirect URI may have been removed from the client since the engine checked it. */
  async function checkRedirectUri(ctx: Context, { parameters }: AuthorizationRequest): Promise<void> {
    await clients.resolve(parameters['client_id']!, ctx.ip);
    const client = await provider().Client.find(parameters['client_id']!);
    if (!client?.redirectUriAllowed(parameters['redirect_uri']!)) throw new InteractionExpiredError();
  }

  /** The client may have been deleted or disabled since the engine checked it. */
  async function enabledClient(ctx: Context, { parameters }: AuthorizationRequest): Promise<StoredClient> {
    const stored = await clients.resolve(parameters['client_id']!, ctx.ip);
    if (!stored || stored.client.disabled) throw new InteractionExpiredError();
    return stored;
  }

  async function describe(
    ctx: Context,
    { request, userId }: OpenInteraction,
    uid: string,
  ): Promise<Interaction> {
    const { parameters, prompt } = request;
    const api = options.resources.get(parameters['resource'] ?? options.issuer);
    // Removed from the options since the engine checked it.
    if (!api) throw new InteractionExpiredError();
    return {
      uid,
      prompt,
      client: (await enabledClient(ctx, request)).client,
      user: userId === undefined ? undefined : await users.find(userId),
      resource: api.resource === options.issuer ? undefined : { resource: api.resource, name: api.name },
      limited: isLimited(request),
      scopes: requestedScopes(request).map((name) => ({
        name,
        // Another node may define scopes that this one does not.
        description: api.scopes.get(name)?.description ?? name,
        optional: request.optional?.includes(name) ?? false,
        consented: request.consented?.includes(name) ?? false,
      })),
      redirectUri: parameters['redirect_uri']!,
      loginHint: parameters['login_hint'],
      uiLocales: parameters['ui_locales']?.split(' '),
      action: pathOf(uid),
      canSwitchUser: currentUser === undefined,
    };
  }

  async function finishLogin(ctx: Context, uid: string, user: User, amr?: string[]): Promise<string> {
    const request = await requestAt(ctx, uid, 'login');
    await sessions.begin(ctx, user, amr);
    const clientId = request.parameters['client_id'];
    audit.record({ type: 'login', userId: user.id, clientId }, originOf(ctx));
    return requests.urlOf(withoutPrompts(request, ['login']));
  }
}

const INTERACTION_PATH = /\/oauth\/interaction\/([^/]+)/i;

/** The consent that the user is asked for. `resource` is `undefined` for the default. */
function pendingConsent(
  { request, userId }: OpenInteraction,
  issuer: string,
): {
  request: AuthorizationRequest;
  consent: { userId: string; clientId: string; resource: string | undefined; scopes: string[] };
} {
  const { client_id: clientId, resource } = request.parameters;
  return {
    request,
    consent: {
      userId: userId!,
      clientId: clientId!,
      resource: besidesDefault(resource, issuer),
      scopes: scopesToConsent(request),
    },
  };
}

/** Whether the consent is limited to the requested scopes. */
function isLimited(request: AuthorizationRequest): boolean {
  return requestedScopes(request).length > 0 || request.limited === true;
}

/** The redirect URI with an `access_denied` response (RFC 6749 section 4.1.2.1, RFC 9207). */
function accessDeniedUrl(parameters: AuthorizationRequest['parameters'], issuer: string): string {
  const url = new URL(parameters['redirect_uri']!);
  const answer = new URLSearchParams({
    error: 'access_denied',
    error_description: 'the user denied the request',
    ...(parameters['state'] === undefined ? {} : { state: parameters['state'] }),
    iss: issuer,
  });
  if (parameters['response_mode'] === 'fragment') url.hash = answer.toString();
  else for (const [name, value] of answer) url.searchParams.set(name, value);
  return url.href;
}
