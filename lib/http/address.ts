import { isIP } from 'node:net';

/**
 * The IP address in Koa's `ctx.ip`, or `undefined` when the text contains none. Behind a proxy, `ctx.ip` is the text of a
 * header field: some proxies add a port (`192.0.2.1:4711`, `[2001:db8::1]:4711`), and a proxy that forwards the field unchanged
 * passes on whatever the client sent.
 */
export function addressOf(text: string): string | undefined {
  // The common case, without the regular expression below.
  if (isIP(text) !== 0 && !text.includes('%')) return text;
  const [, inBrackets, beforePort] =
    /^(?:\[([^\]]*)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/.exec(text.trim()) ?? [];
  const [address = ''] = (inBrackets ?? beforePort ?? text.trim()).split('%');
  return isIP(address) === 0 ? undefined : address;
}
