import type { ResolvedOptions } from '../options/resolved-options.ts';
import type { Passport } from '../passport/passport.ts';

/** Connects the tables of Passport. `undefined`: the server has no such option, and loads nothing for it. */
export async function openPassport(options: ResolvedOptions): Promise<Passport | undefined> {
  const { passport } = options;
  if (!passport) return undefined;
  const { createPassport } = await import('../passport/passport.ts');
  return createPassport({ ...options, passport });
}
