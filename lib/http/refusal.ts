import type { Refusal } from './admission.ts';
import type { Problem } from './problem.ts';

/** Why a request was refused, in words for whoever sent it, without a full stop. */
export const REFUSAL_REASONS: Readonly<Record<Refusal, string>> = {
  closing: 'the server is stopping; send the request again',
  overloaded: 'the server has too many requests at the moment; send this one again later',
};

/** The header fields of a refusal: when to come back and, from a server that stops, not on this connection. */
export function refusalHeaders(refusal: Refusal): Readonly<Record<string, string>> {
  return { 'Retry-After': '1', ...(refusal === 'closing' && { Connection: 'close' }) };
}

/** A refusal as a problem of the API. */
export function refusalProblem(refusal: Refusal): Problem {
  return {
    status: 503,
    code: 'temporarily_unavailable',
    detail: DETAILS[refusal],
    headers: refusalHeaders(refusal),
  };
}

const DETAILS: Readonly<Record<Refusal, string>> = {
  closing: 'The server is stopping. Send the request again.',
  overloaded: 'The server has too many requests at the moment. Send this one again later.',
};
