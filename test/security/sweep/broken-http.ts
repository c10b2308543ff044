import fc from 'fast-check';

import type { SweptRequest } from './edits.ts';
import { MARK } from './odd-values.ts';

/** Bytes that are sent as they are; one character stands for one byte. */
export interface BrokenHttp {
  readonly bytes: string;
}

const PIECES: readonly string[] = [
  '\r\n',
  '\n',
  '\r',
  '\r\n\r\n',
  '\0',
  ' ',
  '\t',
  ':',
  '\u00ff\u00fe',
  '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'HTTP/0.9',
  'HTTP/1.0',
  'HTTP/9.9',
  'GET http://evil.example/oauth/authorize HTTP/1.1\r\nHost: a\r\n\r\n',
  'CONNECT evil.example:443 HTTP/1.1\r\nHost: a\r\n\r\n',
  'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n',
  'TRACE / HTTP/1.1\r\nHost: a\r\n\r\n',
  'Host: a\r\n',
  'Host: [\r\n',
  'Host: evil.example\r\n',
  'Host: a\r\nHost: b\r\n',
  'Content-Length: 5\r\n',
  'Content-Length: 5\r\nContent-Length: 6\r\n',
  'Content-Length: -1\r\n',
  'Content-Length: 99999999999999999999\r\n',
  'Content-Length: 0x5\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding: chunked, identity\r\n',
  'Transfer-Encoding : chunked\r\n',
  '5\r\nhello\r\n0\r\n\r\n',
  'ffffffffffffffff\r\n',
  '5;a=b\r\nhello\r\n0\r\nX-Injected: yes\r\n\r\n',
  'Expect: 100-continue\r\n',
  'Expect: unknown\r\n',
  'Upgrade: websocket\r\nConnection: Upgrade\r\n',
  'Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk\r\n',
  'Connection: close\r\n',
  'Connection: keep-alive, X-Odd\r\n',
  'No colon\r\n',
  ': no name\r\n',
  ' folded: value\r\n',
  `X-Odd: "><${MARK}>\r\n`,
  `X-Odd: ${'a'.repeat(20_000)}\r\n`,
  'X-Odd: a\r\n'.repeat(1500),
  'Cookie: a=b\r\nCookie: c=d\r\n',
  'Authorization: Bearer a\r\nAuthorization: Bearer b\r\n',
  '?'.repeat(20_000),
];

/** Requests with bytes removed or inserted at any position. */
export function brokenHttp(requests: fc.Arbitrary<SweptRequest>): fc.Arbitrary<BrokenHttp> {
  const slip = fc.record({
    // In thousandths, so that both ends are reached whatever the length.
    at: fc.nat(1000),
    line: fc.boolean(),
    cut: fc.oneof(fc.constant(0), fc.nat(30)),
    to: fc.oneof(fc.constantFrom('', ...PIECES), fc.string({ unit: 'binary-ascii', maxLength: 10 })),
  });
  return fc
    .tuple(requests, fc.array(slip, { minLength: 1, maxLength: 3 }))
    .map(([request, slips]) => ({ bytes: slips.reduce(slipped, bytesOf(request)) }));
}

function slipped(text: string, slip: { at: number; line: boolean; cut: number; to: string }): string {
  const somewhere = Math.floor((slip.at / 1000) * text.length);
  // Most pieces have a meaning at the beginning of a header line only.
  const at = slip.line ? text.indexOf('\r\n', somewhere % 300) + 2 : somewhere;
  return text.slice(0, at) + slip.to + text.slice(at + slip.cut);
}

function bytesOf({ method, path, headers, body }: SweptRequest): string {
  const all = {
    host: 'swept.example',
    ...headers,
    ...(body === undefined ? {} : { 'content-length': body.length }),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`;
}
