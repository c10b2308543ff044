// The minimum cost of the response of the guarded route.
import Koa from 'koa';

import { SCHOOLS } from './schools.ts';
import { serveContestant } from './serve-contestant.ts';
import { serveRoute } from './serve-route.ts';

await serveContestant((origin) => serveRoute(origin, new Koa().use(SCHOOLS)));
