import { now } from '../../contracts/clock.ts';
import { toDate } from '../../contracts/duration.ts';
import type { Seconds } from '../../contracts/index.ts';
import { ConfigError, StorageError } from '../../errors.ts';
import { failure, warning } from '../../findings/finding.ts';
import type { Findings } from '../../findings/finding.ts';
import type { PassportSettings } from './options.ts';

// Two weeks to tell the users of apps, or to set a later date.
const SOON: Seconds = 14 * 86_400;

/** Checks the settings: the date, and the tables as they are now, which are checked at the start too. */
export async function* checkPassport({
  source,
  until,
}: Pick<PassportSettings, 'source' | 'until'>): Findings {
  const day = toDate(until).toISOString().slice(0, 10);
  if (until <= now()) {
    yield warning(
      'passport_ended',
      `No token of Passport has been accepted since ${day}, the date of laravelPassport({ until }).`,
      'Leave out the feature laravelPassport(), or set a later date.',
    );
    return;
  }
  if (until - now() <= SOON) {
    yield warning(
      'passport_ends_soon',
      `The tokens of Passport are accepted until ${day} only, and users of apps that still have some have to log in again then.`,
      'Set laravelPassport({ until }) to a later date if there are such apps.',
    );
  }
  try {
    const { writable: isWritable } = await source.check();
    if (isWritable) return;
    yield warning(
      'passport_read_only',
      'The tables of Passport cannot be written, so tokens that are revoked here stay valid at the Laravel app.',
      'Let the user of laravelPassport({ source }) update the column revoked of the three tables, or switch the Laravel app off.',
    );
  } catch (error) {
    if (!(error instanceof ConfigError || error instanceof StorageError)) throw error;
    yield failure(
      'passport_unreadable',
      `The tokens of Passport cannot be checked: ${error.message.replace(/\.$/, '')}.`,
      'Start the database of the Laravel app, or correct laravelPassport({ source }) and the privileges of its user.',
    );
  }
}
