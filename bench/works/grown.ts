import type { ContestantName } from '../contestants.ts';
import { again } from './again.ts';
import { codeExchange } from './code-exchange.ts';
import { refresh } from './refresh.ts';
import type { Work } from './work.ts';

const withManyGrants = (
  work: Work,
  suffix = '',
  contestants: readonly ContestantName[] = ['gatehouse-thousand', 'gatehouse-million'],
): Work => ({
  ...work,
  name: `${work.name}-grown${suffix}`,
  about: `${work.about}, with a million grants in the database`,
  contestants,
});

/** The same works with more rows in the tables, which should cost no more. */
export const grown: readonly Work[] = [
  withManyGrants(again),
  withManyGrants(codeExchange),
  withManyGrants(refresh),
  ...(['postgresql', 'mariadb'] as const).flatMap((database) =>
    [codeExchange, refresh].map((work) =>
      withManyGrants(work, `-${database}`, [
        `gatehouse-${database}-thousand`,
        `gatehouse-${database}-million`,
      ]),
    ),
  ),
];

export const refreshWhilePruning: Work = {
  ...refresh,
  name: 'refresh-while-pruning',
  about: 'a refresh while a million grants and their refresh tokens are pruned',
  contestants: ['gatehouse-million', 'gatehouse-pruning'],
};
