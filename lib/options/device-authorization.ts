import type { Storage } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import { checkDuration, isLiteral } from './checks.ts';
import type { DeviceAuthorization, ResolvedDeviceAuthorization } from './device-options.ts';
import { checkKnownOptions } from './known-options.ts';

/** Checks the option. `undefined`: devices are not authorized. */
export function checkDeviceAuthorization(
  given: unknown,
  { deviceCodes }: Pick<Storage, 'deviceCodes'>,
): ResolvedDeviceAuthorization | undefined {
  const option = 'deviceAuthorization';
  if (given === undefined || given === false) return undefined;
  if (given !== true && !isLiteral(given)) {
    throw new ConfigError(option, "give true, or an object such as { lifetime: '10 minutes' }");
  }
  // A storage of the host may be older than this option.
  if (typeof (deviceCodes as unknown) !== 'object') {
    throw new ConfigError(option, 'this needs a storage with the member deviceCodes');
  }
  const settings: DeviceAuthorization = given === true ? {} : (given as DeviceAuthorization);
  const { interval = '5 seconds', lifetime = '10 minutes' } = checkKnownOptions(
    settings,
    { lifetime: true, interval: true },
    option,
  );
  return Object.freeze({
    lifetime: checkRange(`${option}.lifetime`, lifetime, 60, 1800),
    interval: checkRange(`${option}.interval`, interval, 1, 60),
  });
}

function checkRange(option: string, duration: unknown, least: number, most: number): number {
  const seconds = checkDuration(option, duration, least);
  if (seconds <= most) return seconds;
  throw new ConfigError(option, `give at most ${most} s`);
}
