import { PAGE } from '../../engine/endpoints.ts';
import { createEndUnusedGrants } from '../../token/unused-grants.ts';
import type { Core } from '../core.ts';
import type { Installed } from '../feature.ts';
import { createDeviceFlow } from './flow.ts';
import { deviceCodeGrant } from './grant.ts';
import type { Devices, DeviceSettings } from './index.ts';
import { deviceRequestLimit, userCodeLimit } from './limits.ts';
import { deviceCodeAdapter } from './model.ts';
import { deviceCodeStore } from './store.ts';
import { DEVICE_GRANT } from './types.ts';
import { createUserCodeIds } from './user-codes.ts';

const PATH = '/oauth/device_authorization';

export async function installDevices(core: Core, settings: DeviceSettings): Promise<Installed<Devices>> {
  const { audit, limiterOf, secrets, storage } = core;
  const { interval, lifetime, requests, userCodes } = settings;
  const deviceCodes = await storage.store('deviceCodes', deviceCodeStore);
  const userCodeIds = createUserCodeIds(secrets);
  const flow = createDeviceFlow(core, {
    deviceCodes,
    endUnusedGrants: createEndUnusedGrants(storage.grants, audit),
    userCodeIds,
    userCodes: userCodes && limiterOf(userCodeLimit(userCodes)),
  });
  return {
    api: { devices: flow },
    engine: {
      models: {
        DeviceCode: deviceCodeAdapter(deviceCodes, {
          userCodeIds,
          deviceRequests: requests && limiterOf(deviceRequestLimit(requests)),
        }),
      },
      configuration: {
        routes: { code_verification: '/oauth/device' },
        features: { deviceFlow: { enabled: true, charset: 'base-20', mask: '****-****' } },
        ttl: { DeviceCode: lifetime },
      },
    },
    grantTypes: (parts) => [deviceCodeGrant({ ...parts, deviceCodes }, interval)],
    endpoints: [
      {
        name: 'device_authorization',
        pattern: /^\/oauth\/device_authorization\/?$/i,
        path: PATH,
        engineRoute: 'device_authorization',
        callers: 'clients',
        answeredBy: 'engine',
        isLimited: true,
        isLogged: true,
        reads: { from: 'form', as: 'access' },
        readableFrom: 'nowhere',
        findsUnstoredClients: false,
        success: { level: 'info', outcome: 'answered' },
        refusals: { event: 'device_authorization.error', record: 'authorization_refused' },
        grantType: { isSent: false, name: DEVICE_GRANT },
        endsTokens: false,
        // The engine announces none (actions/authorization/device_authorization_response.js).
        complete(ctx) {
          ctx.body = { ...(ctx.body as object), interval };
        },
      },
      // The engine has a page of its own for user codes.
      { ...PAGE, pattern: /^\/oauth\/device(?:\/|$)/i },
    ],
    metadata: ({ device_authorization_endpoint }) => ({ device_authorization_endpoint }),
    pages: async () => (await import('./pages.ts')).devicePages(flow),
  };
}
