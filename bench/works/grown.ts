import { again } from './again.ts';
import { codeExchange } from './code-exchange.ts';
import { refresh } from './refresh.ts';
import type { Work } from './work.ts';

const withManyGrants = (work: Work): Work => ({
  ...work,
  name: `${work.name}-grown`,
  about: `${work.about}, with a million grants in the database`,
  contestants: ['gatehouse-thousand', 'gatehouse-million'],
});

/** The same works with more rows in the tables, which should cost no more. */
export const grown: readonly Work[] = [
  withManyGrants(again),
  withManyGrants(codeExchange),
  withManyGrants(refresh),
];

export const refreshWhilePruning: Work = {
  ...refresh,
  name: 'refresh-while-pruning',
  about: 'a refresh while a million grants and their refresh tokens are pruned',
  contestants: ['gatehouse-million', 'gatehouse-pruning'],
};
