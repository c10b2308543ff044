import { isIP } from 'node:net';

/**
 * The address in what Koa's `ctx.ip` tells; `undefined` when there is none in it. Behind a proxy that is the text of a header:
 * some proxies add a port (`192.0.2.1:4711`, `[2001:db8::1]:4711`), and where one lets it through, a stranger wrote it.
 */
export function addressOf(text: string): string | undefined {
  // As it nearly always is.
  if (isIP(text) !== 0 && !text.includes('%')) return text;
  const [, inBrackets, beforePort] =
    /^(?:\[([^\]]*)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/.exec(text.trim()) ?? [];
  const [address = ''] = (inBrackets ?? beforePort ?? text.trim()).split('%');
  return isIP(address) === 0 ? undefined : address;
}
