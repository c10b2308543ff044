import { clientCredentials } from './client-credentials.ts';
import { refresh } from './refresh.ts';
import type { Work } from './work.ts';

const inWorkers = (work: Work): Work => ({
  ...work,
  name: `${work.name}-workers`,
  about: `${work.about}, by one process and by those of --workers`,
  contestants: ['gatehouse', 'gatehouse-workers'],
});

/** The same works in several processes, which should cost no more: the driver needs a processor too, so that speed says less. */
export const manyWorkers: readonly Work[] = [inWorkers(clientCredentials), inWorkers(refresh)];
