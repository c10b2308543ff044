import { randomUUID } from 'node:crypto';

import { now } from '../../contracts/clock.ts';
import { toMilliseconds } from '../../contracts/duration.ts';
import type { AuditLog, Logger, UserStore } from '../../contracts/index.ts';
import { ERASED_USER } from '../../contracts/user-data.ts';
import type { PublicPost } from '../../http/public-post.ts';
import { PublicFetchError } from '../../http/public-request.ts';
import { logFailure } from '../../http/unavailable.ts';
import type { Outcome } from '../../outbox/deliveries.ts';
import { createDeliverySender } from '../../outbox/delivery-sender.ts';
import type { DeliverySender, DeliverySenderParts } from '../../outbox/delivery-sender.ts';
import { sidOf } from './sid.ts';
import type { LogoutDelivery } from './types.ts';

/** Signs the claims of a JWT with the key of ID tokens. */
export type SignJwt = (claims: Readonly<Record<string, unknown>>, type: string) => Promise<string>;

/** What the sender needs. */
export interface LogoutSenderParts extends Pick<DeliverySenderParts<LogoutDelivery>, 'deliveries' | 'ends'> {
  readonly audit: Pick<AuditLog, 'record'>;
  readonly issuer: string;
  readonly logger: Logger;
  readonly post: PublicPost;
  readonly sign: SignJwt;
  readonly users: Pick<UserStore, 'find'>;
}

/** Creates the sender that tells clients of logouts (OpenID Connect Back-Channel Logout 1.0 section 2.5). */
export function createLogoutSender(parts: LogoutSenderParts): DeliverySender {
  const { audit, logger, post, users } = parts;

  async function send(delivery: LogoutDelivery, uri: string): Promise<string | undefined> {
    try {
      await post(uri, { logout_token: await createLogoutToken(delivery, parts) });
      return undefined;
    } catch (cause) {
      if (!(cause instanceof PublicFetchError))
        logFailure(logger, { err: cause, client_id: delivery.clientId }, 'logout not sent', 'warn');
      return reasonOf(cause);
    }
  }

  async function report(
    { clientId, userId }: LogoutDelivery,
    { attempt, error, isLast, seconds }: Outcome,
  ): Promise<void> {
    audit.record({ type: 'logout_told', clientId, attempt, error, isLast, seconds });
    const fields = { client_id: clientId, attempt, duration_ms: toMilliseconds(seconds) };
    if (error === undefined) return logger.debug(fields, 'logout delivered');
    if (!isLast) return logger.debug({ ...fields, error }, 'logout not delivered yet');
    logger.warn({ ...fields, error }, 'logout not delivered');
    const isKnown = await isUser(userId);
    audit.record({ type: 'logout_undelivered', clientId, userId: isKnown ? userId : ERASED_USER, error });
  }

  /** Whether the user still exists. The data of a user who does not may have been erased since the logout. */
  async function isUser(id: string): Promise<boolean> {
    try {
      return (await users.find(id)) !== undefined;
    } catch {
      return false;
    }
  }

  return createDeliverySender({ ...parts, what: 'logout', send, report });
}

// In seconds; the specification recommends two minutes at most.
const TOKEN_LIFETIME = 120;

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/** Makes the logout token of one attempt, with a `jti` of its own (OpenID Connect Back-Channel Logout 1.0 section 2.4). */
async function createLogoutToken(
  { clientId, sessionUid, userId }: Pick<LogoutDelivery, 'clientId' | 'sessionUid' | 'userId'>,
  { issuer, sign }: { readonly issuer: string; readonly sign: SignJwt },
): Promise<string> {
  const iat = now();
  const claims = {
    iss: issuer,
    sub: userId,
    aud: clientId,
    iat,
    exp: iat + TOKEN_LIFETIME,
    jti: randomUUID(),
    events: { [EVENT]: {} },
    sid: sidOf(sessionUid, clientId),
  };
  return sign(claims, 'logout+jwt');
}

/** Such as `timeout`, or `status 500`. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof PublicFetchError)) return 'failure';
  return cause.status === undefined ? cause.reason : `status ${cause.status}`;
}
