import { errors } from 'oidc-provider';
import type { Adapter, AdapterPayload } from 'oidc-provider';

import { now } from '../../contracts/clock.ts';
import type { DeviceCode, DeviceRequestThrottle, Storage } from '../../contracts/index.ts';
import { TooManyAttemptsError } from '../../errors.ts';
import { hashCredential } from '../../keys/hash.ts';
import type { ResolvedOptions } from '../../options/resolved-options.ts';
import { toDevicePayload } from '../device-payload.ts';
import { currentRequest } from '../engine-request.ts';
import type { EngineRequest } from '../engine-request.ts';
import { isReplay, PresentedCredential } from '../redemption.ts';
import { TooManyAttempts } from '../token-response.ts';
import { userCodeOf } from '../user-codes.ts';
import type { UserCodeIds } from '../user-codes.ts';

/** The parts of the server that device codes need. */
export interface DeviceCodeParts {
  readonly userCodeIds: UserCodeIds;
  readonly deviceRequests: DeviceRequestThrottle;
}

// In seconds. A device that polls a little late is still told that its code has expired.
const KEPT_AFTER_EXPIRY = 300;

// A part of the interval. Polls that a device sends at the right interval can arrive closer to each other.
const TOLERANCE = 0.8;

/**
 * Device codes (RFC 8628). A request that waits for its user is a row of its own; once approved it has a grant and a credential,
 * which is redeemed as a code is, by exactly one request (see credentials.ts).
 *
 * A poll costs one read, and, when the interval has passed, one conditional write of one row, by which all nodes count the
 * interval together. A poll before that is refused with `slow_down` without a write.
 */
export function deviceCodeAdapter(
  { credentials, deviceCodes }: Pick<Storage, 'credentials' | 'deviceCodes'>,
  options: Pick<ResolvedOptions, 'deviceAuthorization' | 'lifetimes' | 'refreshGrace'>,
  { deviceRequests, userCodeIds }: DeviceCodeParts,
): Partial<Adapter> {
  return {
    async upsert(value, payload) {
      const request = requestWithClient();
      await countRequest(request);
      await deviceCodes.insert(toDeviceCode(request, value, payload));
    },
    async find(value) {
      const request = requestWithClient();
      const id = hashCredential(value);
      const code = await deviceCodes.find(id);
      if (!code) return undefined;
      const found = toPayload(code, value);
      // The engine refuses the code of another client, and one that has expired or was refused. None of these is a poll.
      if (code.clientId !== request.client.client.id) return found;
      if (code.expiresAt <= now() || code.answer === 'denied') return found;
      await countPoll(code);
      return code.answer === 'approved' ? findApproved(request, value, id) : found;
    },
    async consume() {
      currentRequest()?.credential?.accept();
    },
    // See credentials.ts.
    async destroy() {},
    async revokeByGrantId() {},
  };

  async function countRequest({ client, host }: RequestWithClient): Promise<void> {
    try {
      await deviceRequests.count(client.client, host.ip);
    } catch (error) {
      if (!(error instanceof TooManyAttemptsError)) throw error;
      throw new TooManyAttempts(error, 'device authorization requests');
    }
  }

  function toDeviceCode(request: RequestWithClient, value: string, payload: AdapterPayload): DeviceCode {
    const { client, host } = request;
    return {
      id: hashCredential(value),
      userCodeId: userCodeIds(userCodeOf(payload.userCode!)!)[0],
      clientId: client.client.id,
      payload: toDevicePayload(payload.params ?? {}, {
        isLimited: request.isLimitedToNoScope,
        address: host.ip,
        userAgent: host.get('User-Agent'),
      }),
      createdAt: now(),
      expiresAt: payload.exp!,
      keptUntil: payload.exp! + KEPT_AFTER_EXPIRY,
      sequence: request.clientSequence ?? client.sequence,
      answer: undefined,
      polledAt: undefined,
    };
  }

  /** @throws SlowDown of the engine when the device has polled less than the interval ago, on any node */
  async function countPoll({ id, polledAt = 0 }: DeviceCode): Promise<void> {
    const at = Date.now();
    const since = at - options.deviceAuthorization!.interval * 1000 * TOLERANCE;
    if (polledAt > since || !(await deviceCodes.poll(id, { at, since }))) throw new errors.SlowDown();
  }

  /**
   * The credential of an approved request. A device repeats a poll whose response it has missed: within the grace, and until the
   * refresh token is used, it gets the same one again. After that its code is unknown. Unlike a code, which passes through the
   * browser, it was sent by its client only, so a repetition does not show that it was stolen, and revokes nothing.
   */
  async function findApproved(
    request: EngineRequest,
    value: string,
    id: string,
  ): Promise<AdapterPayload | undefined> {
    const found = await credentials.find('device_code', id);
    if (!found) return undefined;
    request.present(new PresentedCredential(value, found));
    if (await isReplay(credentials, found.credential, { value, settings: options })) return undefined;
    return { ...(found.credential.payload as AdapterPayload), jti: value };
  }
}

type RequestWithClient = EngineRequest & { readonly client: NonNullable<EngineRequest['client']> };

function requestWithClient(): RequestWithClient {
  const request = currentRequest();
  if (!request?.client) throw new Error('A device code is only used in a request of a client');
  return request as RequestWithClient;
}

function toPayload(code: DeviceCode, value: string): AdapterPayload {
  return {
    kind: 'DeviceCode',
    jti: value,
    iat: code.createdAt,
    exp: code.expiresAt,
    clientId: code.clientId,
    ...(code.answer === 'denied' ? { error: 'access_denied', errorDescription: 'the user has refused' } : {}),
  };
}
