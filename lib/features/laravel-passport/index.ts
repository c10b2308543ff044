import { readOptions } from '../../options/declare.ts';
import type { Feature } from '../feature.ts';
import { PASSPORT_EVENTS } from './events.ts';
import { PASSPORT } from './options.ts';
import type { PassportOptions } from './options.ts';

export { laravelPassportSource } from './source/index.ts';

/**
 * Laravel Passport: the tokens of an app that used it are accepted until a date, so that nobody has to log in again. The clients are
 * imported before with `gatehouse client import`.
 *
 *     laravelPassport({ publicKey, appKey, source: laravelPassportSource('mysql://…'), until: '2027-06-30' })
 *
 * @throws ConfigError for a wrong option
 */
export function laravelPassport(options: PassportOptions): Feature {
  const settings = readOptions(PASSPORT, options, 'laravelPassport()');
  return {
    name: 'laravelPassport',
    events: PASSPORT_EVENTS,
    open: async (base) => (await import('./open.ts')).openPassport(base, settings),
    // The core is made with all of it.
    install: () => ({}),
  };
}

// So that the compiler finds what it adds to the events wherever a program imports the feature.
// oxlint-disable-next-line unicorn/require-module-specifiers -- hosts name none of them
export type {} from './events.ts';
