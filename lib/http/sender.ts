import type { Context } from 'koa';

import type { GrantOrigin } from '../contracts/index.ts';
import { addressOf } from './address.ts';

// For a page: enough to recognize a program by.
const LONGEST_USER_AGENT = 120;

/** Where a request came from, for a person to recognize it by. */
export function senderOf(ctx: Pick<Context, 'get' | 'ip'>): GrantOrigin {
  return { address: knownAddress(addressOf(ctx.ip) ?? ''), userAgent: userAgentOf(ctx) };
}

/** The `User-Agent` of a request on one line, shortened; empty when it has none. Anybody can send any text. */
export function userAgentOf(ctx: Pick<Context, 'get'>): string {
  const text = ctx
    .get('User-Agent')
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim();
  return text.length > LONGEST_USER_AGENT ? `${text.slice(0, LONGEST_USER_AGENT - 1)}…` : text;
}

/** An address as people know it: Node gives an IPv4 address the form of IPv6 where it listens for both. */
export function knownAddress(address: string): string {
  return address.replace(/^::ffff:/, '');
}
