// The authorization server with a guarded route and an API.
import Koa from 'koa';
import { createApiRouter, defineAction } from 'koa-gatehouse';
import type { Action } from 'koa-gatehouse';
import Router from 'koa-router';
import { z } from 'zod';

import { startAuthServer } from './authorization-server.ts';
import type { Permission } from './authorization-server.ts';
import { SCHOOLS } from './schools.ts';
import { serveContestant } from './serve-contestant.ts';

await serveContestant(async (origin, job) => {
  const { auth, ...started } = await startAuthServer(origin, job);
  const router = new Router();
  router.get('/schools', auth.guard(), SCHOOLS);
  const app = new Koa();
  // First, as in the other contestants, because the route measures the guard.
  app.use(router.routes());
  app.use(auth.middleware());
  app.use(createApiRouter({ auth, actions: [renameSchool()] }).routes());
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
