// This package for an app that asks for OpenID Connect: an ID token comes with each access token, signed as by plain-openid.
import { SCOPE } from '../protocol.ts';
import { startAuthServer } from './authorization-server.ts';
import { serveContestant } from './serve-contestant.ts';

await serveContestant(async (origin, job) => {
  const { auth, registered, ...started } = await startAuthServer(origin, job, { algorithm: 'ES256' });
  const app = { ...registered.app, scope: `openid ${SCOPE}` };
  return { ...started, registered: { ...registered, app }, listener: auth.callback() };
});
