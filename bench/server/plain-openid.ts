// oidc-provider alone, which stores in memory, for an app that asks for OpenID Connect: an ID token comes with each access token.
import { SCOPE } from '../protocol.ts';
import { MapAdapter } from './map-adapter.ts';
import { plainProvider } from './plain-provider.ts';
import { serveContestant } from './serve-contestant.ts';

await serveContestant((origin) => {
  const { registered, ...served } = plainProvider(origin, MapAdapter);
  const app = { ...registered.app, scope: `openid ${SCOPE}` };
  return { ...served, registered: { ...registered, app } };
});
