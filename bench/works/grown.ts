import type { ContestantName } from '../contestants.ts';
import { again, prepareAgain } from './again.ts';
import { clientCredentials } from './client-credentials.ts';
import { codeExchange } from './code-exchange.ts';
import { codeFlow } from './code-flow.ts';
import { guardColdToken } from './guard.ts';
import { prepareRefresh, refresh } from './refresh.ts';
import type { Work } from './work.ts';

/** Of each connection. With 16 of these, the rows of 2,000 users are used, which are spread over the indexes. */
const USERS = 125;

const GROWING: readonly Work[] = [
  clientCredentials,
  codeFlow,
  { ...again, about: `${again.about}, of 2,000 users in turn`, prepare: prepareAgain(USERS) },
  codeExchange,
  { ...refresh, about: `${refresh.about}, of 2,000 users`, prepare: prepareRefresh(USERS) },
  guardColdToken,
];

/** The same works with more rows in the tables, which should cost no more. */
export const grown: readonly Work[] = [
  ...GROWING.map(withRows('', ['gatehouse-thousand', 'gatehouse-million'])),
  ...GROWING.map(withRows('-postgresql', ['gatehouse-postgresql-thousand', 'gatehouse-postgresql-million'])),
  ...GROWING.map(withRows('-mariadb', ['gatehouse-mariadb-thousand', 'gatehouse-mariadb-million'])),
];

function withRows(suffix: string, contestants: readonly ContestantName[]): (work: Work) => Work {
  return (work) => ({
    ...work,
    name: `${work.name}-grown${suffix}`,
    about: `${work.about}, with a thousand and with a million grants and sessions in the database`,
    contestants,
  });
}

export const refreshWhilePruning: Work = {
  ...refresh,
  name: 'refresh-while-pruning',
  about: 'a refresh while a million grants and their refresh tokens are pruned',
  contestants: ['gatehouse-million', 'gatehouse-pruning'],
};
