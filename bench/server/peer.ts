// A server of another project, whose packages are installed outside this repository.
import { pathToFileURL } from 'node:url';

import { REDIRECT_URI } from '../protocol.ts';
import type { Registered } from '../protocol.ts';
import { FIXED_CLIENTS, serveContestant } from './serve-contestant.ts';
import type { Served } from './serve-contestant.ts';

/** Starts a server with the paths of this package; exported by the modules of peers/ as `start`. */
export type StartPeer = (settings: {
  readonly origin: string;
  /** The path of its SQLite file. */
  readonly file: string;
  /** Whether the file has no tables yet. */
  readonly isNew: boolean;
  /** The clients that it registers. */
  readonly clients: Registered;
  readonly redirectUri: string;
}) => Promise<Served>;

await serveContestant(async (origin, { database, peer, registered }) => {
  const { start } = (await import(pathToFileURL(peer!).href)) as { start: StartPeer };
  return start({
    origin,
    file: database!.slice('sqlite:'.length),
    isNew: !registered,
    clients: FIXED_CLIENTS,
    redirectUri: REDIRECT_URI,
  });
});
