import { PAGE } from '../../engine/endpoints.ts';
import { storingLimit } from '../../limits/limits.ts';
import { createAnswerPage } from '../../login/answer-page.ts';
import { createEndUnusedGrants } from '../../token/unused-grants.ts';
import type { Core } from '../core.ts';
import type { Installed } from '../feature.ts';
import { createDeviceFlow } from './flow.ts';
import { deviceCodeGrant } from './grant.ts';
import type { Devices, DeviceSettings } from './index.ts';
import { userCodeLimit } from './limits.ts';
import { deviceCodeAdapter } from './model.ts';
import { createDevicePage } from './page.ts';
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
  const page = createDevicePage({
    answerPage: createAnswerPage(core.options),
    basePath: core.options.basePath,
    devices: flow,
    sessions: core.sessions,
  });
  return {
    api: { devices: { ...flow, page } },
    engine: {
      models: {
        DeviceCode: deviceCodeAdapter(deviceCodes, {
          userCodeIds,
          deviceRequests: requests && limiterOf(storingLimit('device', requests)),
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
        reads: { from: 'form', kind: 'authorization_without_redirect' },
        readableFrom: 'nowhere',
        findsUnstoredClients: false,
        success: { level: 'info', outcome: 'answered' },
        refusals: { event: 'device_authorization.error', record: 'authorization_refused' },
        grantType: { isSent: false, name: DEVICE_GRANT },
        endsTokens: false,
        // The engine's response has no interval (actions/authorization/device.js).
        adds: { interval },
      },
      // The engine has a page of its own for user codes.
      { ...PAGE, pattern: /^\/oauth\/device(?:\/|$)/i },
    ],
    metadata: ({ device_authorization_endpoint }) => ({ device_authorization_endpoint }),
    pages: async () => (await import('./pages.ts')).devicePages(page),
  };
}
