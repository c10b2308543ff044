import type { Mounting } from '../harness/platform.ts';

/** An app with health checks before the server, and its own routes after it. */
export const HOST: Mounting = {
  before: ({ auth }) => [auth.health()],
  behind: [
    (ctx) => {
      ctx.body = 'the host’s';
    },
  ],
};
