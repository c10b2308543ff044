// The authorization server and the API with a guarded route, mounted as in the README, and a route of the host's own.
import Koa from 'koa';
import { createApiRouter, defineAction } from 'koa-gatehouse';
import type { Action } from 'koa-gatehouse';
import Router from 'koa-router';
import { z } from 'zod';

import { OPEN_ROUTE } from '../protocol.ts';
import { startAuthServer } from './authorization-server.ts';
import type { Permission } from './authorization-server.ts';
import { SCHOOLS } from './schools.ts';
import { serveContestant } from './serve-contestant.ts';

await serveContestant(async (origin, job) => {
  const { auth, ...started } = await startAuthServer(origin, job);
  const api = createApiRouter({ auth, actions: [renameSchool()] });
  api.get('/schools', auth.requires('view_schools'), SCHOOLS);
  const router = new Router().get(OPEN_ROUTE, SCHOOLS);
  const app = new Koa().use(auth.middleware()).use(api.routes()).use(router.routes());
  const handle = app.callback();
  return {
    ...started,
    listener: (request, response) => void handle(request, response),
    prune: async (signal) => auth.prune({ signal }),
  };
});

function renameSchool(): Action<Permission> {
  return defineAction({
    type: 'school',
    name: 'rename-school-action',
    level: 'instance',
    title: 'Rename a school',
    permission: 'edit_schools',
    input: z.object({ name: z.string().min(1).max(200) }),
    output: z.object({ id: z.string(), name: z.string() }),
    run: async ({ id, input: { name } }) => ({ id, name }),
  });
}
