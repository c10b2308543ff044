import { bodyParser } from '@koa/bodyparser';

import { hostApp } from '../embedding/host.ts';
import type { Mounting } from '../harness/platform.ts';

/** The ways in which a server can be mounted. */
export const SERVERS: Readonly<Record<string, Mounting>> = {
  'stand-alone': { app: ({ auth }) => auth.callback() },
  'stand-alone, issuer with a path': { path: '/auth', app: ({ auth }) => auth.callback() },
  'in an app with other keys': {
    app: hostApp({ keys: ['a key of the host'], front: [bodyParser()] }),
  },
  'in an app without keys, issuer with a path': { path: '/auth', app: hostApp({ front: [bodyParser()] }) },
};
