import { readOptions } from '../../options/declare.ts';
import type { Feature } from '../feature.ts';
import { PASSPORT_EVENTS } from './events.ts';
import { PASSPORT } from './options.ts';
import type { PassportOptions } from './options.ts';

export type { PassportEvent } from './events.ts';
export type { PassportOptions } from './options.ts';
export { passportSource } from './source/index.ts';
export type { KnexConfiguration, KnexInstance, PassportSourceOptions } from './source/index.ts';
export type {
  PassportAccessToken,
  PassportClient,
  PassportConnection,
  PassportRefreshToken,
  PassportSelector,
  PassportSource,
  PassportTokenCount,
  PassportUse,
} from './types.ts';

/**
 * Laravel Passport: the tokens of an app that used it are accepted until a date, so that nobody has to log in again. The clients are
 * imported before with `gatehouse client import`.
 *
 *     passport({ publicKey, appKey, source: passportSource('mysql://…'), until: '2027-06-30' })
 *
 * @throws ConfigError for a wrong option
 */
export function passport(options: PassportOptions): Feature {
  const settings = readOptions(PASSPORT, options, 'passport()');
  return {
    name: 'passport',
    events: PASSPORT_EVENTS,
    open: async (base) => (await import('./open.ts')).openPassport(base, settings),
    // The core is made with all of it.
    install: () => ({}),
  };
}
