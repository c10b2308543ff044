import { clientCredentials } from './client-credentials.ts';
import { refresh } from './refresh.ts';
import type { Work } from './work.ts';

const inWorkers = (work: Work, contestants: Work['contestants'], database = ''): Work => ({
  ...work,
  name: `${work.name}-workers${database}`,
  about: `${work.about}, by one process and by those of --workers`,
  contestants,
});

/** The same works in several processes, which should cost no more: the driver needs a processor too, so that speed says less. */
export const manyWorkers: readonly Work[] = [
  // The processes of the others share nothing: what an operation costs more there is the machine's.
  inWorkers(clientCredentials, [
    'gatehouse',
    'gatehouse-workers',
    'plain',
    'plain-workers',
    'floor',
    'floor-workers',
  ]),
  inWorkers(refresh, ['gatehouse', 'gatehouse-workers']),
  inWorkers(refresh, ['gatehouse-postgresql', 'gatehouse-postgresql-workers'], '-postgresql'),
];
