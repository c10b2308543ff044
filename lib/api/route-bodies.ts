import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Context, DefaultContext, Middleware, Request } from 'koa';

import type { Logger } from '../contracts/index.ts';
import { BodyError } from '../errors.ts';
import { discardRest, isUnread, receiveBody } from '../http/body.ts';
import { checkJson } from '../http/json.ts';
import type { Limits } from './limits.ts';

/** The context of routes that a host adds to the API. */
export interface RouteBody extends DefaultContext {
  readonly request?: Request & {
    /** The value of a JSON body, or the fields of a form or a multipart body. `undefined`: there was no such body. */
    body?: unknown;
    /** The text of a JSON body or a form, for verifying a signature of it. */
    rawBody?: string;
    /** The files of a multipart body, by field name, those of one field in their order. They are deleted after the response. */
    files?: Readonly<Record<string, UploadedFile | UploadedFile[]>>;
  };
}

/** A file of a multipart body. */
export interface UploadedFile {
  /** The path of the file, which exists until the response was sent. */
  readonly filepath: string;
  /** The name that the client sent: do not use it as a path. */
  readonly originalFilename: string | null;
  /** The media type that the client sent. */
  readonly mimetype: string | null;
  /** In bytes. */
  readonly size: number;
}

/** Parses the bodies of the routes that a host adds. */
export interface RouteBodies {
  /** Starts to load the parser, which takes about 100 ms. */
  readonly load: () => void;
  /** Parses unread JSON, form and multipart bodies. Other bodies are left to the route. */
  readonly parse: Middleware;
}

/** The methods whose body has defined semantics (RFC 9110 section 9.3). */
export const METHODS_WITH_BODY: readonly string[] = ['POST', 'PUT', 'PATCH'];

export function createRouteBodies(limits: Limits, logger: Logger): RouteBodies {
  const { bodyLimit, uploads } = limits;
  let loading: ReturnType<typeof importKoaBody> | undefined;
  const load = async () => (loading ??= importKoaBody());

  async function parseText(ctx: Context, isJson: boolean): Promise<void> {
    const { koaBody } = await load();
    const parse = koaBody({
      json: isJson,
      jsonTypes: JSON_TYPES,
      jsonLimit: bodyLimit,
      jsonStrict: false,
      urlencoded: !isJson,
      formLimit: bodyLimit,
      queryString: {
        allowDots: false,
        arrayLimit: uploads.maxFields,
        parameterLimit: uploads.maxFields,
        throwOnLimitExceeded: true,
      },
      text: false,
      includeUnparsed: true,
    });
    await readWithParser(ctx, bodyLimit, async () => parse(ctx, async () => {}));
    const { body, rawBody } = ctx.request as NonNullable<RouteBody['request']>;
    if (isJson) checkJson(body, rawBody);
  }

  async function parseMultipart(ctx: Context): Promise<void> {
    const { koaBody } = await load();
    const failed = Promise.withResolvers<never>();
    const begun: unknown[] = [];
    const parse = koaBody({
      multipart: true,
      json: false,
      urlencoded: false,
      text: false,
      formidable: {
        uploadDir: await temporaryDirectory(ctx, logger),
        maxFields: uploads.maxFields,
        maxFieldsSize: bodyLimit,
        maxFiles: uploads.maxFiles,
        maxFileSize: uploads.bodyLimit,
        allowEmptyFiles: true,
        minFileSize: 0,
        // For a file field without a chosen file, a browser sends a part with an empty file name.
        filter: ({ originalFilename }) => originalFilename !== '',
        onPart(part, handle) {
          const fault = preparePart(part);
          // formidable does not handle rejections of its part handler: an unhandled rejection would end the process.
          if (fault) failed.reject(fault);
          else Promise.resolve(handle(part)).catch(failed.reject);
        },
        onFileBegin(_field, file) {
          begun.push(file);
        },
      },
    });
    await readWithParser(ctx, uploads.bodyLimit, async () =>
      Promise.race([parse(ctx, async () => {}), failed.promise]),
    );
    // formidable lists the files of a field in the order in which they were written to the disk.
    const { files = {} } = ctx.request as NonNullable<RouteBody['request']>;
    for (const ofField of Object.values(files))
      if (Array.isArray(ofField)) ofField.sort((one, other) => begun.indexOf(one) - begun.indexOf(other));
  }

  /** Runs the parser within the limits of the server, and converts its errors. */
  async function readWithParser(ctx: Context, limit: number, read: () => Promise<unknown>): Promise<void> {
    const fault = await receiveBody(ctx, { limit, name: 'body' }, async () => {
      try {
        await read();
        return null;
      } catch (error) {
        if (isFileSystemError(error)) return error;
        throw toBodyError(error, limits);
      }
    });
    // A file system error is a fault of the server, so it must not become a `BodyError`.
    if (fault !== null) throw discardRest(ctx, fault);
  }

  return {
    load() {
      // The first request that needs the parser is answered with the error.
      load().catch(() => {});
    },
    async parse(ctx, next) {
      if (isUnread(ctx.req)) {
        if (ctx.is(MULTIPART)) await parseMultipart(ctx);
        else if (ctx.is(JSON_TYPES)) await parseText(ctx, true);
        else if (ctx.is('urlencoded')) await parseText(ctx, false);
      }
      return next();
    },
  };
}

async function importKoaBody() {
  return import('koa-body');
}

const MULTIPART = 'multipart/form-data';
const JSON_TYPES = ['json', '+json'];

/** Creates a directory for the files of a request. It is deleted when the response was sent or the connection was closed. */
async function temporaryDirectory({ res }: Context, logger: Logger): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-upload-'));
  const remove = (): void => {
    // With retries, because formidable may still create a file.
    rm(folder, { recursive: true, force: true, maxRetries: 5 }).catch((error: unknown) =>
      logger.warn({ err: error, folder }, 'uploaded files could not be removed'),
    );
  };
  if (res.closed) remove();
  else res.once('close', remove);
  return folder;
}

interface Part {
  name: string | null;
  originalFilename: string | null;
  mimetype: string | null;
  transferEncoding?: string;
}

/** Prepares a part for formidable: a part with a file name is a file, whatever its media type (RFC 7578 section 4.2). */
function preparePart(part: Part): BodyError | undefined {
  if (part.name === null || part.name === '__proto__') return new BodyError(MALFORMED);
  if (part.originalFilename === null) part.mimetype = null;
  else part.mimetype ??= 'application/octet-stream';
  // formidable has decoded the content already, and would use the transfer encoding as a charset.
  part.transferEncoding = 'utf-8';
  return undefined;
}

const MALFORMED = `The body is not valid ${MULTIPART}.`;

/** Converts an error of koa-body, co-body or formidable to a `BodyError`. */
function toBodyError(error: unknown, { bodyLimit, uploads }: Limits): unknown {
  if (!(error instanceof Error) || error instanceof BodyError) return error;
  const { code, httpCode } = error as { code?: unknown; httpCode?: unknown };
  // The codes are those of formidable's FormidableError.js.
  if (error instanceof RangeError || code === 1007)
    return limitExceeded(`more than ${uploads.maxFields} fields`);
  if (code === 1006) return limitExceeded(`fields of more than ${bodyLimit} bytes`);
  if (code === 1009 || code === 1016) return limitExceeded(`files of more than ${uploads.bodyLimit} bytes`);
  if (code === 1015) return limitExceeded(`more than ${uploads.maxFiles} files`);
  if (error instanceof SyntaxError) return new BodyError('The body is not valid JSON.', { cause: error });
  // Any other error of formidable, except 1002: the connection was closed.
  if (typeof httpCode === 'number' && code !== 1002) return new BodyError(MALFORMED, { cause: error });
  return error;
}

function limitExceeded(what: string): BodyError {
  return new BodyError(`The body has ${what}.`, { status: 413 });
}

function isFileSystemError(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error && 'path' in error;
}
