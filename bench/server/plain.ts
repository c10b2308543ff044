// oidc-provider alone, which stores in memory.
import { MapAdapter } from './map-adapter.ts';
import { plainProvider } from './plain-provider.ts';
import { serveContestant } from './serve-contestant.ts';

await serveContestant((origin) => plainProvider(origin, MapAdapter));
