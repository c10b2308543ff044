import type { AuthenticatedTokenRequest, EnginePart, GrantType } from '../engine/part.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import type { GrantParts } from '../token/exchange.ts';
import { deviceCodeAdapter, readDevicePayload } from './device-code-model.ts';
import type { DeviceCodeParts } from './device-code-model.ts';
import { toMilliseconds } from '../contracts/duration.ts';
import { errors } from '../engine/oidc-provider.ts';
import { now } from '../contracts/clock.ts';
import type { DeviceCode, DeviceCodeStore, Seconds } from '../contracts/index.ts';
import { hashCredential } from '../keys/hash.ts';
import { isReplay } from '../token/redemption.ts';
import { DEVICE_GRANT } from '../contracts/devices.ts';
import { exchange, findOwn, refusalOf, requireParameters } from '../token/exchange.ts';

/** What the engine needs for devices without a browser (RFC 8628). Without the option, their endpoint does not exist. */
export function devicePart(
  options: ResolvedOptions,
  parts: DeviceCodeParts & Omit<GrantParts, 'options'>,
): EnginePart {
  const {
    clients: { devices },
    storage,
  } = options;
  if (!devices) return { models: {}, configuration: {} };
  return {
    models: { DeviceCode: deviceCodeAdapter(storage.deviceCodes, parts) },
    grants: [deviceCodeGrant({ ...parts, options }, devices)],
    configuration: {
      features: { deviceFlow: { enabled: true, charset: 'base-20', mask: '****-****' } },
      ttl: { DeviceCode: devices.lifetime },
    },
  };
}

/**
 * The grant of device codes (RFC 8628 section 3.4). A request that waits for its user is a row of its own; once approved it has a
 * grant and a credential, which is redeemed as a code is, by exactly one request.
 *
 * A poll costs one read, and, when the interval has passed, one conditional write of one row, by which all nodes count the
 * interval together. A poll before that is refused with `slow_down` without a write.
 *
 * A device repeats a poll whose response it has missed: within the grace, and until the refresh token is used, it gets the same one
 * again. After that its code is unknown. Unlike a code, which passes through the browser, it was sent by its client only, so a
 * repetition does not show that it was stolen, and revokes nothing.
 */
const deviceCodeGrant = (parts: GrantParts, { interval }: { readonly interval: Seconds }): GrantType => ({
  name: DEVICE_GRANT,
  parameters: ['device_code', 'resource'],
  async handle(ctx, request) {
    const { storage } = parts.options;
    const { device_code: value } = requireParameters(ctx, 'device_code');
    const code = await storage.deviceCodes.find(hashCredential(value));
    if (!code) throw new errors.InvalidGrant('device code not found');
    if (code.clientId !== request.client.client.id) throw new errors.InvalidGrant('client mismatch');
    if (code.expiresAt <= now()) throw new errors.ExpiredToken('device code is expired');
    if (code.answer === 'denied') throw new errors.AccessDenied('the user has refused');
    if (code.answer === undefined) await refuseUnanswerable(code, request, parts);
    await countPoll(storage.deviceCodes, code, interval);
    if (code.answer !== 'approved') throw new errors.AuthorizationPending();
    const presented = await findOwn(request, parts, { kind: 'device_code', value });
    if (isReplay(presented, parts.options.tokens.refreshGrace))
      throw new errors.InvalidGrant('device code not found');
    await exchange(ctx, presented, { request, parts });
  },
});

/**
 * A request that no user can answer any more: the device begins again.
 *
 * @throws InvalidGrant and InvalidTarget of the engine
 */
async function refuseUnanswerable(
  code: DeviceCode,
  { client: { sequence } }: AuthenticatedTokenRequest,
  { findUsable }: Pick<GrantParts, 'findUsable'>,
): Promise<void> {
  const { resource, scopes: limit } = readDevicePayload(code);
  const usable = await findUsable(
    { clientId: code.clientId, userId: undefined, resource, limit },
    { findUser: async () => undefined, isActive: async () => sequence <= code.sequence },
  );
  if (typeof usable === 'string') throw refusalOf(usable, 'device_code');
}

// A part of the interval. Polls that a device sends at the right interval can arrive closer to each other.
const TOLERANCE = 0.8;

/** @throws SlowDown of the engine when the device has polled less than the interval ago, on any node */
async function countPoll(
  deviceCodes: DeviceCodeStore,
  { id, polledAt = 0 }: DeviceCode,
  interval: Seconds,
): Promise<void> {
  const at = Date.now();
  const since = at - toMilliseconds(interval) * TOLERANCE;
  if (polledAt > since || !(await deviceCodes.poll(id, { at, since }))) throw new errors.SlowDown();
}
