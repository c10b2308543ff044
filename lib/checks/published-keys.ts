import type { Finding } from '../contracts.ts';
import { inWords, visit } from './visit.ts';

/** Whether the server's endpoints can be reached where its metadata says: its keys are one that anybody may ask for. */
export async function checkPublishedKeys(url: string): Promise<readonly Finding[]> {
  const answer = await visit(url);
  if ('status' in answer && answer.status === 200) return [];
  return [
    {
      code: 'endpoints_unreachable',
      severity: 'error',
      message: `The server's keys are not at ${url}, where its metadata says: ${inWords(answer)}.`,
      remedy:
        'Let the proxy pass /oauth/ to the server; if it removes the path of the issuer on the way, set the option mountPath.',
    },
  ];
}
