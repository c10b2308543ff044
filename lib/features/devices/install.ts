import { createEndUnusedGrants } from '../../token/unused-grants.ts';
import type { Core } from '../core.ts';
import type { Installed } from '../feature.ts';
import { createDeviceFlow } from './flow.ts';
import { deviceCodeGrant } from './grant.ts';
import type { Devices, DeviceSettings } from './index.ts';
import { deviceRequestLimit, userCodeLimit } from './limits.ts';
import { deviceCodeAdapter } from './model.ts';
import { deviceCodeStore } from './store.ts';
import { createUserCodeIds } from './user-codes.ts';

const ENDPOINT = 'device_authorization';
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
        routes: { device_authorization: PATH, code_verification: '/oauth/device' },
        features: { deviceFlow: { enabled: true, charset: 'base-20', mask: '****-****' } },
        ttl: { DeviceCode: lifetime },
      },
      respond(ctx) {
        if (ctx.oidc.route === ENDPOINT && ctx.status === 200)
          ctx.body = { ...(ctx.body as object), interval };
      },
    },
    grantTypes: (parts) => [deviceCodeGrant({ ...parts, deviceCodes }, interval)],
    places: [
      { pattern: /^\/oauth\/device_authorization\/?$/i, work: ENDPOINT, hasEngine: true, route: PATH },
      // The engine has a page of its own for user codes.
      { pattern: /^\/oauth\/device(?:\/|$)/i, work: 'page', hasEngine: false },
    ],
    metadata: ({ device_authorization_endpoint }) => ({ device_authorization_endpoint }),
    pages: async () => (await import('./pages.ts')).devicePages(flow),
  };
}
