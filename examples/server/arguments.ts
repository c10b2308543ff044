import { basename } from 'node:path';
import { parseArgs } from 'node:util';

import { COMMAND, COMMAND_WITH_OPTIONS, DATA_DIRECTORY } from './program.ts';

/** The parsed command line. */
export interface Arguments {
  /** Print one line of JSON instead of text. */
  readonly json: boolean;
  /** Print the apps with their secrets, and `curl` commands for each grant type. */
  readonly curl: boolean;
  /** Replace every password and client secret, and print the new ones. */
  readonly newSecrets: boolean;
  /** Added to the seeded authorization-code apps. */
  readonly redirectUris: readonly string[];
  /** The number of processes. */
  readonly workers: number;
  readonly help: boolean;
}

/** An invalid command line. The program prints the usage and exits with 2. */
export class UsageError extends Error {
  override readonly name: string = 'UsageError';
}

const NPM_LINES =
  COMMAND === 'npm start'
    ? `                       npm start --silent -- --json leaves out npm's own lines\n`
    : '';

export const USAGE: string = `Usage: ${COMMAND_WITH_OPTIONS} [options]

Starts a small school platform: an OAuth 2.0 server, its pages, an API and a third-party app that uses them.

  --json               print one JSON line for scripts: base_url, users, clients. Passwords and secrets are
                       in it on the first start and with --new-secrets; on later starts they are null.
${NPM_LINES}  --curl               print the apps with their secrets, and curl commands for each grant type
  --new-secrets        create new passwords and client secrets; the old ones stop working
  --redirect-uri URL   add a redirect URI to the seeded authorization-code apps; may be repeated
  --workers N          run in N processes that share the port and the database (1);
                       with more than one, /metrics is not served
  --help               print this

Environment:
  PORT                the port to listen on; 0 picks a free one         (3000)
  HOST                the address to listen on                          (127.0.0.1)
  BASE_URL            the public URL; with it, /metrics is not served   (http://localhost:PORT)
  DATA_DIR            the folder of the database and the portal's file  (${basename(DATA_DIRECTORY)})
  DATABASE_URL        another database; several nodes may share one     (sqlite:DATA_DIR/platform.sqlite)
  KEY_ENCRYPTION_KEY  encrypts the signing keys in the database, with   (in the file key-encryption-key,
                      32 characters or more; on every node the same      beside the SQLite file or in DATA_DIR)
  PDF_BASE_URL        the PDF service of the portal's documents         (started by the example)
  PDF_API_KEY         the API key of this PDF service                   (none)
  CHROMIUM            the path of Chromium, for the enrolment letters   (an installed one)
  CHROMIUM_SANDBOX    false: without Chromium's sandbox, which does     (true)
                      not start as root; only in a container
`;

/** Parses the command line. Throws a {@link UsageError} for unknown arguments. */
export function readArguments(argv: readonly string[]): Arguments {
  const { values } = parse(argv);
  const redirectUris = values['redirect-uri'] ?? [];
  const wrong = redirectUris.find((uri) => !URL.canParse(uri));
  if (wrong !== undefined) {
    throw new UsageError(
      `--redirect-uri takes an absolute URL, such as http://localhost:8080/callback, not "${wrong}"`,
    );
  }
  return {
    json: values.json === true,
    curl: values.curl === true,
    newSecrets: values['new-secrets'] === true,
    redirectUris,
    workers: readWorkers(values.workers),
    help: values.help === true,
  };
}

function readWorkers(text: string = '1'): number {
  const workers = /^\d{1,2}$/.test(text) ? Number(text) : 0;
  if (workers >= 1) return workers;
  throw new UsageError(`--workers takes a number from 1 to 99, not "${text}"`);
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        json: { type: 'boolean' },
        curl: { type: 'boolean' },
        'new-secrets': { type: 'boolean' },
        'redirect-uri': { type: 'string', multiple: true },
        workers: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    // The first sentence names the argument; the rest is about positional arguments, which this program does not take.
    throw new UsageError(String(error instanceof Error ? error.message : error).split('. ')[0], {
      cause: error,
    });
  }
}
