/** A response with its body. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; `undefined` when it is not JSON. */
  readonly body: Record<string, unknown> | undefined;
}

/** Sends a request once; redirects are not followed. */
export async function send(url: string | URL, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, { redirect: 'manual', ...init });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: parse(text) };
}

export async function postForm(
  url: string | URL,
  fields: Record<string, string> | string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return send(url, { method: 'POST', body: new URLSearchParams(fields), headers });
}

export async function postJson(
  url: string | URL,
  value: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const body = typeof value === 'string' ? value : JSON.stringify(value);
  return send(url, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });
}

/** An HTTP Basic header for a client (RFC 6749 section 2.3.1: both parts form-encoded first). */
export function basic(id: string, secret: string): { authorization: string } {
  return { authorization: `Basic ${Buffer.from(`${encode(id)}:${encode(secret)}`).toString('base64')}` };
}

function encode(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/** A response of an API. */
export interface ApiAnswer extends Omit<Answer, 'body'> {
  readonly type: string | null;
  /** The JSON body; empty when there is none. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** Sends a request, with a bearer token if one is given. */
export async function request(url: string, token?: string, init: RequestInit = {}): Promise<ApiAnswer> {
  const headers = new Headers(init.headers);
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
  const { body = {}, ...answer } = await send(url, { ...init, headers });
  return { ...answer, body, type: answer.headers.get('content-type') };
}
