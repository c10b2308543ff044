import { createHash } from 'node:crypto';
import type { Context, Next } from 'koa';
import { setAssetHeaders } from '../lib/http/headers.ts';
import { readText } from './files.ts';

/** A file that pages link to. */
export interface PublishedAsset {
  readonly name: string;
  readonly type: string;
  readonly content: Buffer;
}

/** The assets by name. Each URL contains a hash of the content, so that browsers can cache it without a time limit. */
export interface Assets {
  /** The path of a file below the server's own path. */
  path(name: string): string;
  /** Answers `/oauth/assets/:hash/:name`; an unknown name falls through. */
  readonly serve: (ctx: Context, next: Next) => Promise<void>;
}

/** Reads a file of `interactions/public`. */
export function bundledAsset(name: string, type: string): PublishedAsset {
  return { name, type, content: Buffer.from(readText(`public/${name}`)) };
}

/** Computes the hashes of the files; called once, at start. */
export function publishAssets(files: readonly PublishedAsset[]): Assets {
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
      // An unknown hash is from another version of the server behind the same load balancer. The page gets this version's
      // file, which the browser must not cache under that URL.
      setAssetHeaders(ctx, hash === file.hash);
      ctx.type = file.type;
      ctx.body = file.content;
    },
  };
}
