// The route without a guard.
import { guardedRoute } from './guarded-route.ts';
import { serveContestant } from './serve-contestant.ts';

await serveContestant((origin) => guardedRoute(origin, async (_ctx, next) => next()));
