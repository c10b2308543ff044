import { again } from './again.ts';
import { bulkAction } from './bulk-action.ts';
import { clientCredentials } from './client-credentials.ts';
import { codeExchange } from './code-exchange.ts';
import { codeFlow } from './code-flow.ts';
import { guardColdToken, guardManyTokens, guardOneToken } from './guard.ts';
import { grown, refreshWhilePruning } from './grown.ts';
import { htmlPdf } from './html-pdf.ts';
import { refresh } from './refresh.ts';
import type { Work } from './work.ts';
import { manyWorkers } from './workers.ts';

/** The works that are measured under load, in the order of the tables. */
export const WORKS: readonly Work[] = [
  clientCredentials,
  codeFlow,
  again,
  codeExchange,
  refresh,
  guardOneToken,
  guardManyTokens,
  guardColdToken,
  bulkAction,
  ...manyWorkers,
  ...grown,
  refreshWhilePruning,
  ...htmlPdf,
];
