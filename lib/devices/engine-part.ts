import type { EnginePart } from '../engine/part.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import type { GrantParts } from '../token/exchange.ts';
import { deviceCodeGrant } from './device-code-grant.ts';
import { deviceCodeAdapter } from './device-code-model.ts';
import type { DeviceCodeParts } from './device-code-model.ts';

/** What the engine needs for devices without a browser (RFC 8628). Without the option, their endpoint does not exist. */
export function devicePart(
  options: ResolvedOptions,
  parts: DeviceCodeParts & Omit<GrantParts, 'options'>,
): EnginePart {
  const {
    clients: { devices },
    storage,
  } = options;
  if (!devices) return { models: {}, configuration: {} };
  return {
    models: { DeviceCode: deviceCodeAdapter(storage.deviceCodes, parts) },
    grants: [deviceCodeGrant({ ...parts, options }, devices)],
    configuration: {
      features: { deviceFlow: { enabled: true, charset: 'base-20', mask: '****-****' } },
      ttl: { DeviceCode: devices.lifetime },
    },
  };
}
