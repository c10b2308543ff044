import type { SweptRequest } from './edits.ts';
import type { SweptAnswer } from './send.ts';
import { MARK } from './odd-values.ts';

/** A description of what is wrong with a response; `undefined` for a correct one. */
export function harmIn(answer: SweptAnswer, request: SweptRequest, origin: string): string | undefined {
  const { status, body } = answer;
  const type = text(answer, 'content-type');
  const isPlanned = status === 501 && /\/objects\//.test(request.path);
  if (status >= 500 && !isPlanned) return 'a fault of the server';
  if (TRACES.test(body)) return 'internal details';
  if (answer.headers['x-injected'] !== undefined) return 'a header field of the sender';
  const location = answer.headers['location'];
  if (location !== undefined && !isAllowedTarget(String(location), origin)) return 'a redirect to elsewhere';
  if (location !== undefined && !isKnownError(URL.parse(String(location), origin)!.searchParams)) {
    return 'an unregistered error';
  }
  if (/json/.test(type)) return harmInJson(answer, request);
  if (/html/.test(type)) return harmInPage(answer);
  if ((FOR_CLIENTS.test(request.path) || API.test(request.path)) && status >= 400 && body !== '')
    return 'an error of an endpoint for programs that is not JSON';
  return undefined;
}

/** A description of what is wrong with the bytes of responses to malformed HTTP. */
export function harmInBytes(received: string): string | undefined {
  const heads = Array.from(received.matchAll(/^HTTP\/1\.1 (\d{3}) [^]*?\r\n\r\n/gm));
  if (received !== '' && heads.length === 0) return 'no HTTP';
  if (heads.some(([, status]) => Number(status) >= 500 && Number(status) !== 501))
    return 'a fault of the server';
  if (heads.some(([head]) => /^x-injected:/im.test(head))) return 'a header field of the sender';
  const isPage = heads.some(([head]) => /^content-type: text\/html/im.test(head));
  if (isPage && received.includes(`<${MARK}`)) return 'HTML of the sender';
  return TRACES.test(received) ? 'internal details' : undefined;
}

const TRACES = /\bat .*\.(?:ts|js):\d+|(?:Type|Reference|Range|Syntax)Error|SQLITE|node_modules/;

/** The endpoints that clients post to, in upper or lower case, and the API, whose paths are case-sensitive. */
const FOR_CLIENTS = /^\/oauth\/(?:token|revoke|introspect)\/?(?:\?|$)/i;
const API = /^\/api\/v1\/(?!docs)/;

function harmInJson({ status, body }: SweptAnswer, { method, path }: SweptRequest): string | undefined {
  if (body === '') return method === 'HEAD' || status === 304 ? undefined : 'JSON without a body';
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    // NDJSON of a bulk request.
    return undefined;
  }
  if (!FOR_CLIENTS.test(path)) return undefined;
  const members = new Map(Object.entries(value ?? {}));
  if (status === 200) return members.has('error') ? 'an error that looks like a success' : undefined;
  return members.has('error') && isKnownError(members) ? undefined : 'an unregistered error';
}

/** RFC 6749 sections 4.1.2.1 and 5.2: a registered code, and the permitted characters in the description. */
function isKnownError(parameters: { get(name: string): unknown }): boolean {
  const [error, description] = [parameters.get('error') ?? '', parameters.get('error_description') ?? ''];
  return (
    ERRORS.has(error) &&
    typeof description === 'string' &&
    /^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/.test(description)
  );
}

// `unsupported_response_mode` is not registered, but used by other servers too.
const KNOWN = `
  access_denied consent_required invalid_client invalid_grant invalid_request invalid_scope invalid_target login_required
  registration_not_supported request_not_supported request_uri_not_supported unauthorized_client unsupported_grant_type
  unsupported_response_mode unsupported_response_type
`;

const ERRORS: ReadonlySet<unknown> = new Set(['', ...KNOWN.trim().split(/\s+/)]);

function harmInPage(answer: SweptAnswer): string | undefined {
  if (answer.body.includes(`<${MARK}`) || answer.body.includes(`"${MARK}=`)) return 'HTML of the sender';
  const policy = text(answer, 'content-security-policy');
  const isGuarded =
    policy.includes("default-src 'none'") &&
    policy.includes("frame-ancestors 'none'") &&
    !policy.includes('unsafe-inline') &&
    text(answer, 'x-content-type-options') === 'nosniff';
  return isGuarded || answer.status === 303 ? undefined : 'a page without the headers of a page';
}

function isAllowedTarget(location: string, origin: string): boolean {
  const url = URL.parse(location, origin);
  return (
    url !== null &&
    (url.origin === origin ||
      url.href.startsWith('https://reports.example/callback?') ||
      url.href.startsWith('https://reports.example/callback#'))
  );
}

function text({ headers }: SweptAnswer, name: string): string {
  return [headers[name] ?? []].flat().join(', ');
}
