import { randomUUID } from 'node:crypto';

import type { Context } from 'koa';

import { now } from '../../contracts/clock.ts';
import { confirmAbsence } from '../../contracts/confirm-absence.ts';
import type {
  AuditEvent,
  Client,
  Credential,
  Grant,
  GrantPrerequisites,
  Limiter,
  User,
} from '../../contracts/index.ts';
import { InteractionExpiredError, TooManyAttemptsError } from '../../errors.ts';
import { besidesDefault } from '../../engine/resource-parameter.ts';
import { addressOf, knownAddress, originOf } from '../../http/request.ts';
import { hashCredential } from '../../keys/hash.ts';
import { isSameNetwork } from '../../limits/networks.ts';
import { decideConsent, describeAccess } from '../../login/asked-scopes.ts';
import type { AskedAccess } from '../../login/asked-scopes.ts';
import { storeConsent } from '../../login/consent.ts';
import { signsIn } from '../../token/scopes.ts';
import type { EndUnusedGrants } from '../../token/unused-grants.ts';
import type { Core } from '../core.ts';
import type { UserCodeAttempt } from './limits.ts';
import { readDevicePayload } from './model.ts';
import type { DevicePayload } from './model.ts';
import type { DeviceCode, DeviceCodeStore, DeviceFlow, DeviceRequest } from './types.ts';
import { displayedUserCode, userCodeOf } from './user-codes.ts';
import type { UserCodeIds } from './user-codes.ts';

/** The parts of the server that the pages for user codes need. */
export interface DeviceFlowParts {
  readonly deviceCodes: DeviceCodeStore;
  readonly endUnusedGrants: EndUnusedGrants;
  readonly userCodeIds: UserCodeIds;
  readonly userCodes: Limiter<UserCodeAttempt> | undefined;
}

// The key of the consent among those of redirect hosts. These are http or https origins, so none is equal to it.
const DEVICE_HOST = 'device:';

/** A device authorization request that a user can answer, with its client. */
interface OpenRequest {
  readonly code: DeviceCode;
  readonly payload: DevicePayload;
  readonly client: Client;
}

/** Makes the steps of the pages on which users enter the code of a device; `DeviceFlow` documents each of them. */
export function createDeviceFlow(
  { audit, clients, options, provider, tools, users: assignments }: Core,
  parts: DeviceFlowParts,
): Omit<DeviceFlow, 'page'> {
  const { issuer, resources, storage, users } = options;
  const { deviceCodes, endUnusedGrants, userCodeIds, userCodes } = parts;

  async function findOpen(userCode: string): Promise<OpenRequest | undefined> {
    for (const id of userCodeIds(userCode)) {
      const code = await deviceCodes.findByUserCode(id);
      if (!code || code.answer !== undefined || code.expiresAt <= now()) continue;
      // Not read from the directory, whose entry may be older than the end of the client.
      const stored = await storage.clients.find(code.clientId);
      const payload = readDevicePayload(code);
      const isOpen = stored && !stored.client.disabled && stored.sequence <= code.sequence;
      // The API may have been removed from the options.
      return isOpen && resources.has(payload.resource) ? { code, payload, client: stored.client } : undefined;
    }
    return undefined;
  }

  /** The request with a user code, as a user has entered it. @throws TooManyAttemptsError */
  async function enter(ctx: Context, user: User, entered: string): Promise<OpenRequest | undefined> {
    const userCode = userCodeOf(entered);
    // A text that cannot be a code is no guess.
    if (userCode === undefined) return undefined;
    try {
      // Confirmed before the page says that there is no such code: an earlier call that has failed may have denied the request.
      const find = async (): Promise<OpenRequest | undefined> => confirmAbsence(storage, findOpen(userCode));
      const found = await (userCodes
        ? userCodes.attempt({ userId: user.id, address: ctx.ip }, find)
        : find());
      if (!found) audit.record({ type: 'user_code_refused', userId: user.id }, originOf(ctx));
      return found;
    } catch (error) {
      if (error instanceof TooManyAttemptsError)
        audit.record({ type: 'user_code_throttled', userId: user.id }, originOf(ctx));
      throw error;
    }
  }

  async function describe(
    ctx: Context,
    user: User,
    entered: string,
    { client, code, payload }: OpenRequest,
  ): Promise<DeviceRequest> {
    const asked = {
      client,
      tools: tools.get(payload.resource),
      assignment: async () => assignments.of(user),
    };
    return {
      userCode: displayedUserCode(userCodeOf(entered)!),
      client,
      ...(await describeAccess(askedBy(payload), asked, options)),
      requestedAt: code.createdAt,
      address: knownAddress(payload.address),
      sameNetwork: isSameNetwork(payload.address, ctx.ip),
      userAgent: payload.userAgent === '' ? undefined : payload.userAgent,
    };
  }

  function askedBy({ isLimited: isLimitedToNone, resource, scopes }: DevicePayload): AskedAccess {
    const known = resources.get(resource)?.scopes;
    const optional = scopes.filter((name) => known?.get(name)?.optional === true);
    return { resource, scopes, isLimitedToNone, consented: [], optional };
  }

  /**
   * The login that a grant is based on, with the claims of an ID token about it. The sequence number is read before the login is checked,
   * so that an end of the user from here on ends the grant too.
   *
   * @throws InteractionExpiredError when the user is not logged in any more
   */
  async function loginOf(
    ctx: Context,
    user: User,
  ): Promise<Pick<GrantPrerequisites, 'sessionId'> & Pick<Grant, 'sequence'> & { readonly said: object }> {
    const sequence = await storage.revocations.latestSequence();
    if (!(await users.find(user.id))) throw new InteractionExpiredError();
    const session = await provider().Session.get(ctx);
    if (session.accountId === user.id) {
      const { acr, amr, jti, loginTs: authTime } = session;
      return { sessionId: hashCredential(jti), sequence, said: { acr, amr, authTime } };
    }
    // The host's own login, for which there is no row.
    if ((await options.login.currentUser?.(ctx))?.id === user.id)
      return { sequence, said: { authTime: await options.login.authenticatedAt?.(ctx) } };
    throw new InteractionExpiredError();
  }

  function record(
    ctx: Context,
    type: 'device_authorized' | 'device_denied',
    about: { user: User; open: OpenRequest; scopes: readonly string[] },
  ): void {
    const { client, payload } = about.open;
    const event: AuditEvent = {
      type,
      userId: about.user.id,
      clientId: client.id,
      scopes: about.scopes,
      resource: besidesDefault(payload.resource, issuer),
      deviceAddress: addressOf(payload.address),
    };
    audit.record(event, originOf(ctx));
  }

  return {
    async find(ctx, user, entered) {
      const open = await enter(ctx, user, entered);
      return open && describe(ctx, user, entered, open);
    },
    async approve(ctx, user, entered, chosen) {
      const login = await loginOf(ctx, user);
      const open = await enter(ctx, user, entered);
      if (!open) return false;
      const { client, code, payload } = open;
      const { granted: scopes, limit } = decideConsent(askedBy(payload), chosen);
      const resource = besidesDefault(payload.resource, issuer);
      const { sequence } = login;
      await storeConsent(options, clients.directory, {
        userId: user.id,
        sequence,
        client,
        resource,
        limit,
        host: DEVICE_HOST,
      });
      const consent = await storage.consents.find(user.id, client.id);
      // The consent was withdrawn meanwhile.
      if (!consent) throw new InteractionExpiredError();
      const grant: Grant = {
        id: randomUUID(),
        userId: user.id,
        clientId: client.id,
        scopes: limit,
        createdAt: now(),
        expiresAt: code.expiresAt,
        revokedAt: undefined,
        sequence,
        sessionUid: undefined,
        origin: { address: knownAddress(payload.address), userAgent: payload.userAgent },
      };
      const prerequisites = { consent, ...('sessionId' in login ? { sessionId: login.sessionId } : {}) };
      const said = signsIn(scopes, options.aboutUser) ? login.said : {};
      const credential = credentialOf(code, grant, { ...payload, said, scopes });
      if (!(await deviceCodes.approve(grant, credential, prerequisites, now()))) return false;
      record(ctx, 'device_authorized', { user, open, scopes });
      await endUnusedGrants(grant, originOf(ctx));
      return true;
    },
    async deny(ctx, user, entered) {
      const open = await enter(ctx, user, entered);
      if (!open || !(await deviceCodes.deny(open.code.id, now()))) return false;
      record(ctx, 'device_denied', { user, open, scopes: open.payload.scopes });
      return true;
    },
  };
}

/** The credential that the device redeems, with the members that the engine's grant of device codes reads. */
function credentialOf(
  { expiresAt, id }: DeviceCode,
  { clientId, createdAt, id: grantId, userId }: Grant,
  {
    hasOfflineAccess,
    resource,
    said,
    scopes,
  }: Pick<DevicePayload, 'hasOfflineAccess' | 'resource' | 'scopes'> & { readonly said: object },
): Credential {
  return {
    kind: 'device_code',
    id,
    grantId,
    payload: {
      kind: 'DeviceCode',
      iat: createdAt,
      exp: expiresAt,
      clientId,
      accountId: userId,
      grantId,
      resource,
      scope: scopes.join(' '),
      ...(hasOfflineAccess && { offlineAccess: true }),
      ...said,
    },
    expiresAt,
    consumedAt: undefined,
    sealedSuccessor: undefined,
  };
}
