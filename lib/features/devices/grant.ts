import { now } from '../../contracts/clock.ts';
import { toMilliseconds } from '../../contracts/duration.ts';
import type { Seconds } from '../../contracts/index.ts';
import { errors } from '../../engine/oidc-provider.ts';
import type { AuthenticatedTokenRequest, GrantType } from '../../engine/part.ts';
import { hashCredential } from '../../keys/hash.ts';
import { exchange, findOwn, refusalOf, requireParameters } from '../../token/exchange.ts';
import type { GrantParts } from '../../token/exchange.ts';
import { isReplay } from '../../token/redemption.ts';
import { readDevicePayload } from './model.ts';
import { DEVICE_GRANT } from './types.ts';
import type { DeviceCode, DeviceCodeStore } from './types.ts';

/**
 * The grant of device codes (RFC 8628 section 3.4). A request that waits for its user has a row of its own. Once approved, it has a grant
 * and a credential, which exactly one request redeems, as with an authorization code.
 *
 * A poll costs one read, and, when the interval has passed, one conditional write of one row, by which all nodes count the interval
 * together. A poll before that is refused with `slow_down` without a write.
 *
 * A device repeats a poll when it has missed the response: within the grace, and until the refresh token is used, it gets the same
 * response again. After that its device code is unknown. An authorization code passes through the browser, but only the client sends a
 * device code, so a repetition does not show that the code was stolen, and revokes nothing.
 */
export const deviceCodeGrant = (
  parts: GrantParts & { readonly deviceCodes: DeviceCodeStore },
  interval: Seconds,
): GrantType => ({
  name: DEVICE_GRANT,
  parameters: ['device_code', 'resource'],
  // A device polls every few seconds until its user has decided (RFC 8628 section 3.5).
  pending: ['authorization_pending', 'slow_down'],
  async handle(ctx, request) {
    const { deviceCodes } = parts;
    const { device_code: value } = requireParameters(ctx, 'device_code');
    const code = await deviceCodes.find(hashCredential(value));
    if (!code) throw new errors.InvalidGrant('device code not found');
    if (code.clientId !== request.client.client.id) throw new errors.InvalidGrant('client mismatch');
    if (code.expiresAt <= now()) throw new errors.ExpiredToken('device code is expired');
    if (code.answer === 'denied') throw new errors.AccessDenied('the user has refused');
    if (code.answer === undefined) await refuseUnanswerable(code, request, parts);
    await countPoll(deviceCodes, code, interval);
    if (code.answer !== 'approved') throw new errors.AuthorizationPending();
    const presented = await findOwn(request, parts, { kind: 'device_code', value });
    if (isReplay(presented, parts.options.tokens.refreshGrace))
      throw new errors.InvalidGrant('device code not found');
    await exchange(ctx, presented, { request, parts });
  },
});

/**
 * Refuses a request that no user can answer any more, so that the device begins again.
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

// The part of the interval that must have passed. Polls that a device sends at the right interval can arrive closer to each other.
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
