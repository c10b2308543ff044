import { GatehouseError } from '../../errors.ts';
import type { ActionContext } from '../actions/with-action.ts';

// Visible ASCII without quotes and commas, which belong to the syntax around it.
const PLAIN = /^[!#-+\--~]{1,255}$/;

// A string of RFC 9651 section 3.3.3, as the draft has it.
const QUOTED = /^"((?:[ !#-[\]-~]|\\["\\]){1,255})"$/;

/**
 * Reads the key of a request that may be sent again (draft-ietf-httpapi-idempotency-key-header): a quoted string, or, as
 * most clients send it, the characters alone.
 *
 * @throws GatehouseError `ERR_IDEMPOTENCY_KEY`, 400, for anything else
 */
export function readIdempotencyKey(ctx: ActionContext): string | undefined {
  const field = ctx.get('Idempotency-Key');
  if (ctx.headers['idempotency-key'] === undefined) return undefined;
  if (PLAIN.test(field)) return field;
  const [, quoted] = QUOTED.exec(field) ?? [];
  if (quoted !== undefined) return quoted.replaceAll(/\\(["\\])/g, '$1');
  throw new GatehouseError(
    'ERR_IDEMPOTENCY_KEY',
    'Send one Idempotency-Key of 1 to 255 visible ASCII characters, such as a UUID.',
    { status: 400 },
  );
}
