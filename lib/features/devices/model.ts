import type { AdapterPayload } from 'oidc-provider';

import { now } from '../../contracts/clock.ts';
import type { Limiter, Seconds } from '../../contracts/index.ts';
import type { Model } from '../../engine/calls-without-context.ts';
import type { EngineRequest } from '../../engine/request.ts';
import { TooManyAttempts } from '../../engine/refusals.ts';
import { addressOf } from '../../http/request.ts';
import { userAgentOf } from '../../http/request.ts';
import { hashCredential } from '../../keys/hash.ts';
import type { StoringAttempt } from '../../limits/limits.ts';
import { splitScope } from '../../token/scopes.ts';
import type { DeviceCode, DeviceCodeStore } from './types.ts';
import { userCodeOf } from './user-codes.ts';
import type { UserCodeIds } from './user-codes.ts';

/** The parts of the server that device codes need. */
export interface DeviceCodeParts {
  readonly userCodeIds: UserCodeIds;
  readonly deviceRequests: Limiter<StoringAttempt> | undefined;
}

// A device that polls a little late is still told that its code has expired.
const KEPT_AFTER_EXPIRY: Seconds = 300;

/**
 * Device codes, which the device authorization endpoint of the engine saves (RFC 8628 section 3.2). They are redeemed in
 * grant.ts.
 */
export function deviceCodeAdapter(
  deviceCodes: Pick<DeviceCodeStore, 'insert'>,
  { deviceRequests, userCodeIds }: DeviceCodeParts,
): Model {
  return {
    async upsert(request, value, payload) {
      if (!isOfClient(request)) throw new Error('A device code is only used in a request of a client');
      await countRequest(request);
      await deviceCodes.insert(toDeviceCode(request, value, payload));
    },
    // Called when a grant is revoked. The end of the grant also ends its device codes.
    async revokeByGrantId() {},
  };

  async function countRequest({ client, host }: RequestWithClient): Promise<void> {
    try {
      await deviceRequests?.take({ client: client.client, address: host.ip });
    } catch (error) {
      throw TooManyAttempts.instead(error, 'device authorization requests');
    }
  }

  function toDeviceCode(request: RequestWithClient, value: string, payload: AdapterPayload): DeviceCode {
    const { client, host } = request;
    return {
      id: hashCredential(value),
      userCodeId: userCodeIds(userCodeOf(payload.userCode!)!)[0],
      clientId: client.client.id,
      payload: toDevicePayload(payload.params ?? {}, {
        isLimited: request.isLimitedToNoScope === true,
        hasOfflineAccess: request.hasOfflineAccess === true,
        address: addressOf(host.ip) ?? '',
        userAgent: userAgentOf(host),
      }),
      createdAt: now(),
      expiresAt: payload.exp!,
      keptUntil: payload.exp! + KEPT_AFTER_EXPIRY,
      sequence: request.clientSequence ?? client.sequence,
      answer: undefined,
      polledAt: undefined,
    };
  }
}

type RequestWithClient = EngineRequest & { readonly client: NonNullable<EngineRequest['client']> };

function isOfClient(request: EngineRequest | undefined): request is RequestWithClient {
  return request?.client !== undefined;
}

/** The requested access, and what is known of the device, as the row of a device code stores them. */
export interface DevicePayload {
  readonly resource: string;
  readonly scopes: readonly string[];
  /** Whether the request names no scope and the client is registered for none, so that the consent permits nothing. */
  readonly isLimited: boolean;
  /** Whether the request names `offline_access`, which is not among the scopes. */
  readonly hasOfflineAccess: boolean;
  /** The IP address of the device's request; empty when a proxy sent none. */
  readonly address: string;
  /** The `User-Agent` of the device's request, shortened; empty when it sent none. */
  readonly userAgent: string;
}

/** @param parameters - the parameters of the device authorization request, as the engine has checked them */
function toDevicePayload(
  parameters: Readonly<Record<string, unknown>>,
  device: Pick<DevicePayload, 'isLimited' | 'hasOfflineAccess' | 'address' | 'userAgent'>,
): Record<string, unknown> {
  const { resource, scope } = parameters;
  const payload: DevicePayload = {
    resource: String(resource),
    scopes: splitScope(scope),
    ...device,
  };
  return { ...payload };
}

export function readDevicePayload({ payload }: Pick<DeviceCode, 'payload'>): DevicePayload {
  return payload as unknown as DevicePayload;
}
