import { createHash } from 'node:crypto';
import type { Context, Next } from 'koa';
import { setAssetHeaders } from '../lib/http/headers.ts';
import { readText } from './files.ts';

/** A file that the pages refer to. */
export interface Asset {
  readonly name: string;
  readonly type: string;
  readonly content: Buffer;
}

/** The pages' files, by name. Each one's URL holds a hash of its content, so browsers may keep it for good. */
export interface Assets {
  /** The path of a file below the server's own path. */
  path(name: string): string;
  /** Answers `/oauth/assets/:hash/:name`; a name that is not ours falls through. */
  readonly serve: (ctx: Context, next: Next) => Promise<void>;
}

/** Reads a file of `interactions/public`. */
export function bundledAsset(name: string, type: string): Asset {
  return { name, type, content: Buffer.from(readText(`public/${name}`)) };
}

/** Hashes the files, once, at start. */
export function publishAssets(files: readonly Asset[]): Assets {
  const published = new Map(
    files.map((file) => [
      file.name,
      { ...file, hash: createHash('sha256').update(file.content).digest('base64url').slice(0, 12) },
    ]),
  );
  return {
    path(name) {
      const file = published.get(name);
      if (!file) throw new TypeError(`There is no asset ${name}.`);
      return `/oauth/assets/${file.hash}/${name}`;
    },
    async serve(ctx, next) {
      const { hash, name = '' } = ctx['params'] as Record<string, string>;
      const file = published.get(name);
      if (!file) {
        await next();
        return;
      }
      // A hash that is not ours is of another version that runs beside this one: better its style than none.
      setAssetHeaders(ctx, hash === file.hash);
      ctx.type = file.type;
      ctx.body = file.content;
    },
  };
}
