import type { OAuthClient } from '../client/oauth-client.ts';
import { SERVERS } from './work.ts';
import type { Work } from './work.ts';

/** Something that the start of a server is measured at. */
export interface Start extends Pick<Work, 'name' | 'about' | 'contestants'> {
  /** What it is asked for first. */
  readonly first: (client: OAuthClient) => Promise<unknown>;
}

export const STARTS: readonly Start[] = [
  {
    name: 'start-up',
    about: 'from the start of the process to its first token, on a database that is there',
    // A token for a client itself comes without an ID token.
    contestants: SERVERS.filter((name) => !name.endsWith('-openid')),
    first: async (client) => client.clientCredentials(),
  },
  {
    name: 'html-pdf-start',
    about: 'from the start of the process to its first PDF',
    contestants: ['html-pdf-plain', 'html-pdf'],
    first: async (client) => client.letter(),
  },
];
