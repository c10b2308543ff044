import type { ImportedClient } from 'koa-gatehouse';

/** Takes a secret as Passport stores it: hashed by bcrypt, or, before version 13, plain. */
export function mapSecret(stored: string | undefined): {
  readonly secret: ImportedClient['secret'];
  readonly note?: string;
} {
  if (stored === undefined) return { secret: undefined };
  if (/^\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}$/.test(stored)) return { secret: { bcrypt: stored } };
  const hash = /^\$([a-z0-9-]+)\$/i.exec(stored)?.[1];
  if (hash === undefined) return { secret: { value: stored } };
  return {
    secret: undefined,
    note: `Its secret is hashed with ${hash}, which is not supported. Give it a new one with \`gatehouse client secrets add\`.`,
  };
}
