import { again } from './again.ts';
import { codeExchange } from './code-exchange.ts';
import { refresh } from './refresh.ts';
import type { Work } from './work.ts';

const besideMany = (work: Work): Work => ({
  ...work,
  name: `${work.name}-grown`,
  about: `${work.about}, beside a million grants`,
  contestants: ['gatehouse-thousand', 'gatehouse-million'],
});

/** The same, with more rows in the tables: none of it should cost more. */
export const grown: readonly Work[] = [besideMany(again), besideMany(codeExchange), besideMany(refresh)];

export const refreshWhilePruning: Work = {
  ...refresh,
  name: 'refresh-while-pruning',
  about: 'a refresh, while a million grants and their refresh tokens are removed',
  contestants: ['gatehouse-million', 'gatehouse-pruning'],
};
