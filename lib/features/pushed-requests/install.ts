import { warning } from '../../findings/finding.ts';
import type { Findings } from '../../findings/finding.ts';
import { storingLimit } from '../../limits/limits.ts';
import type { Core } from '../core.ts';
import type { Feature, Installed } from '../feature.ts';
import type { PushedRequestSettings } from './index.ts';
import { pushedRequestModel } from './model.ts';
import { isRequired } from './required.ts';
import { pushedRequestStore } from './store.ts';
import { PATH } from './types.ts';

const ENDPOINT = 'pushed_authorization_request';

export async function installPushedRequests(core: Core, settings: PushedRequestSettings): Promise<Installed> {
  const { lifetime, requests, required } = settings;
  const isRequiredOfAll = isRequired(required, undefined);
  return {
    engine: {
      models: {
        PushedAuthorizationRequest: pushedRequestModel(core, {
          pushedRequests: await core.storage.store('pushedRequests', pushedRequestStore),
          limiter: requests && core.limiterOf(storingLimit('pushing', requests)),
          lifetime,
        }),
      },
      configuration: { features: { pushedAuthorizationRequests: { enabled: true } } },
      clientMetadata: (client) => ({ require_pushed_authorization_requests: isRequired(required, client) }),
    },
    endpoints: [
      {
        name: ENDPOINT,
        pattern: /^\/oauth\/par\/?$/i,
        path: PATH,
        engineRoute: ENDPOINT,
        callers: 'clients',
        answeredBy: 'engine',
        isLimited: true,
        isLogged: true,
        reads: { from: 'form', kind: 'authorization' },
        readableFrom: 'origins of the client',
        findsUnstoredClients: true,
        success: { level: 'info', outcome: 'answered' },
        refusals: { event: `${ENDPOINT}.error`, record: 'authorization_refused' },
        grantType: undefined,
        endsTokens: false,
        // The engine's response says 60 seconds always (actions/authorization/pushed_authorization_requests.js).
        adds: { expires_in: lifetime },
      },
    ],
    metadata: ({ pushed_authorization_request_endpoint }) => ({
      pushed_authorization_request_endpoint,
      ...(isRequiredOfAll && { require_pushed_authorization_requests: true }),
    }),
    pages: async () => (await import('./pages.ts')).pushedRequestPages(),
    check: () => checkAgents(isRequiredOfAll ? (core.options.features as readonly Feature[]) : []),
  };
}

/** Apps that nobody has registered are refused, because few of them push. */
async function* checkAgents(features: readonly Feature[]): Findings {
  const admitting = features.find(({ clientSources = [] }) => clientSources.length > 0);
  if (!admitting) return;
  yield warning(
    'pushing_required_of_agents',
    `The feature ${admitting.name}() admits apps that nobody has registered. Few of them can push their authorization requests, and pushedRequests({ required: true }) refuses all others.`,
    "Require it of registered apps only: pushedRequests({ required: ({ source }) => source === 'manual' }).",
  );
}
