import { now } from '../clock.ts';
import type { ResolvedOptions } from '../options.ts';

/**
 * When a login session ends that is used now, in seconds since 1970: after the idle time, and never later than its absolute
 * end, which begins with the login.
 */
export function sessionEnd(
  { loginTs = now() }: { readonly loginTs?: number | undefined },
  { session, sessionAbsolute }: ResolvedOptions['lifetimes'],
): number {
  return Math.min(now() + session, loginTs + sessionAbsolute);
}
