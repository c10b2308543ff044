import { availableParallelism } from 'node:os';

/** The settings of the service. */
export interface Settings {
  readonly host: string;
  /** `0`: any free port. */
  readonly port: number;
  /** Required in every request, unless it is empty. */
  readonly apiKey: string;
  /** How large a PDF may be, in bytes. */
  readonly maxBytes: number;
  /** How long one job may take, in milliseconds. */
  readonly jobTimeout: number;
  /** How many jobs run at the same time, each in a thread. */
  readonly workers: number;
  /** How many jobs may wait for a thread. */
  readonly queue: number;
  /** Whether the service fetches PDFs by URL: not at all, from public addresses, or from any. */
  readonly fetchUrls: 'off' | 'public' | 'any';
  /** How long running jobs may take once the service stops, in milliseconds. */
  readonly grace: number;
}

/** An invalid setting. The message names the variable and the remedy. */
export class SettingsError extends Error {
  override readonly name: string = 'SettingsError';
}

export const USAGE: string = `Usage: npm run pdf-service

Starts a small PDF service, for the client koa-gatehouse/pdf: POST /extract, POST /render, GET /health.

Environment:
  PORT             the port to listen on; 0 picks a free one             (7330)
  HOST             the address to listen on                              (127.0.0.1)
  PDF_API_KEY      required in every request, as a bearer token          (none)
  PDF_MAX_BYTES    maximum size of a PDF, in bytes                       (52428800)
  PDF_JOB_TIMEOUT  time limit of a job, in milliseconds                  (30000)
  PDF_WORKERS      how many jobs run at the same time                    (the number of processors, at most 4)
  PDF_QUEUE        how many jobs may wait; more are answered with 503    (16)
  PDF_FETCH_URLS   whether PDFs are fetched by URL: off, public, any     (off)
                   public refuses addresses of private networks; any does not
`;

export const DEFAULTS: Settings = {
  host: '127.0.0.1',
  port: 7330,
  apiKey: '',
  maxBytes: 50 * 1024 * 1024,
  jobTimeout: 30_000,
  workers: Math.min(availableParallelism(), 4),
  queue: 16,
  fetchUrls: 'off',
  grace: 10_000,
};

/** Reads the settings. An empty variable counts as unset. */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  const fetchUrls = environment['PDF_FETCH_URLS'] || DEFAULTS.fetchUrls;
  if (fetchUrls !== 'off' && fetchUrls !== 'public' && fetchUrls !== 'any') {
    throw new SettingsError('PDF_FETCH_URLS: give off, public or any.');
  }
  const whole = (name: string, preset: number, least: number, most: number): number => {
    const text = environment[name] || String(preset);
    const number = /^\d+$/.test(text) ? Number(text) : NaN;
    if (number >= least && number <= most) return number;
    throw new SettingsError(`${name}: give a whole number from ${least} to ${most}, not "${text}".`);
  };
  return {
    ...DEFAULTS,
    host: environment['HOST'] || DEFAULTS.host,
    port: whole('PORT', DEFAULTS.port, 0, 65_535),
    apiKey: environment['PDF_API_KEY'] ?? '',
    maxBytes: whole('PDF_MAX_BYTES', DEFAULTS.maxBytes, 1, 4 * 1024 ** 3),
    jobTimeout: whole('PDF_JOB_TIMEOUT', DEFAULTS.jobTimeout, 1, 3_600_000),
    workers: whole('PDF_WORKERS', DEFAULTS.workers, 1, 64),
    queue: whole('PDF_QUEUE', DEFAULTS.queue, 0, 10_000),
    fetchUrls,
  };
}
