// The authorization server and nothing else, as oidc-provider is started.
import { startAuthServer } from './authorization-server.ts';
import { serveContestant } from './serve-contestant.ts';

await serveContestant(async (origin, job) => {
  const { auth, ...started } = await startAuthServer(origin, job);
  return { ...started, listener: auth.callback() };
});
