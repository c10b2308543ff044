// Only the authorization server, for a comparison with oidc-provider.
import { startAuthServer } from './authorization-server.ts';
import { serveContestant } from './serve-contestant.ts';

await serveContestant(async (origin, job) => {
  const { auth, ...started } = await startAuthServer(origin, job);
  return { ...started, listener: auth.callback() };
});
