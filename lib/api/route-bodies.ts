import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Context, DefaultContext, Middleware, Request } from 'koa';

import type { Logger } from '../contracts/index.ts';
import { BodyError } from '../errors.ts';
import { checkJson } from '../http/json.ts';
import { discardRest, isUnread, receiveBody } from '../http/receive-body.ts';
import type { Limits } from './limits.ts';

/** What the handlers of routes that a host adds to the API find on their context. */
export interface RouteBody extends DefaultContext {
  readonly request?: Request & {
    /** The value of a JSON body, or the fields of a form or of a multipart body. `undefined`: there was none of these. */
    body?: unknown;
    /** The text of a JSON body or of a form, for a signature that is to be verified. */
    rawBody?: string;
    /** The files of a multipart body, by the names of their fields. They are removed when the request has been answered. */
    files?: Readonly<Record<string, UploadedFile | UploadedFile[]>>;
  };
}

/** A file of a multipart body. */
export interface UploadedFile {
  /** Where it is until the request has been answered. */
  readonly filepath: string;
  /** As the sender calls it: not a path to be trusted. */
  readonly originalFilename: string | null;
  /** As the sender says. */
  readonly mimetype: string | null;
  /** In bytes. */
  readonly size: number;
}

/** Parses the bodies of the routes that a host adds. */
export interface RouteBodies {
  /** Begins to load the parser, which takes about a tenth of a second. */
  readonly load: () => void;
  /** Parses JSON, forms and multipart bodies that nobody has read. Others are left to the route. */
  readonly parse: Middleware;
}

/** The methods with a body that means something (RFC 9110 section 9.3). */
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
    await receive(ctx, bodyLimit, async () => parse(ctx, async () => {}));
    const { body, rawBody } = ctx.request as NonNullable<RouteBody['request']>;
    if (isJson) checkJson(body, rawBody);
  }

  async function parseMultipart(ctx: Context): Promise<void> {
    const { koaBody } = await load();
    const failed = Promise.withResolvers<never>();
    const parse = koaBody({
      multipart: true,
      json: false,
      urlencoded: false,
      text: false,
      formidable: {
        uploadDir: await temporaryFolder(ctx, logger),
        maxFields: uploads.maxFields,
        maxFieldsSize: bodyLimit,
        maxFiles: uploads.maxFiles,
        maxFileSize: uploads.bodyLimit,
        allowEmptyFiles: true,
        minFileSize: 0,
        // A browser sends one without a name for a field in which no file was chosen.
        filter: ({ originalFilename }) => originalFilename !== '',
        onPart(part, handle) {
          const fault = preparePart(part);
          // Rejections of the handler are nobody's in formidable, and would end the process.
          if (fault) failed.reject(fault);
          else Promise.resolve(handle(part)).catch(failed.reject);
        },
      },
    });
    await receive(ctx, uploads.bodyLimit, async () =>
      Promise.race([parse(ctx, async () => {}), failed.promise]),
    );
  }

  /** Has the parser read the body, and explains why it has not. */
  async function receive(ctx: Context, limit: number, read: () => Promise<unknown>): Promise<void> {
    const fault = await receiveBody(ctx, { limit, name: 'body' }, async () => {
      try {
        await read();
        return null;
      } catch (error) {
        if (isOfFileSystem(error)) return error;
        throw explain(error, limits);
      }
    });
    // The server's fault, not the sender's.
    if (fault !== null) throw discardRest(ctx, fault);
  }

  return {
    load() {
      // The request that needs it is answered with the error.
      load().catch(() => {});
    },
    async parse(ctx, next) {
      if (METHODS_WITH_BODY.includes(ctx.method) && isUnread(ctx.req)) {
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

/** Makes a folder for the files of a request. It is removed when the request has been answered or its connection has ended. */
async function temporaryFolder({ res }: Context, logger: Logger): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-upload-'));
  const remove = (): void => {
    // With retries: formidable may be creating one more file.
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

/** Says what a part is: one with a file name is a file, whatever its media type (RFC 7578 section 4.2). */
function preparePart(part: Part): BodyError | undefined {
  if (part.name === null || part.name === '__proto__') return new BodyError(MALFORMED);
  if (part.originalFilename === null) part.mimetype = null;
  else part.mimetype ??= 'application/octet-stream';
  // Formidable has decoded the content by now, and takes the name of the encoding for that of a charset.
  part.transferEncoding = 'utf-8';
  return undefined;
}

const MALFORMED = `The body is not valid ${MULTIPART}.`;

/** Why koa-body, with co-body and formidable below it, has not taken a body. */
function explain(error: unknown, { bodyLimit, uploads }: Limits): unknown {
  if (!(error instanceof Error) || error instanceof BodyError) return error;
  const { code, httpCode } = error as { code?: unknown; httpCode?: unknown };
  // The codes are those of formidable's FormidableError.js.
  if (error instanceof RangeError || code === 1007) return tooMuch(`more than ${uploads.maxFields} fields`);
  if (code === 1006) return tooMuch(`fields of more than ${bodyLimit} bytes`);
  if (code === 1009 || code === 1016) return tooMuch(`files of more than ${uploads.bodyLimit} bytes`);
  if (code === 1015) return tooMuch(`more than ${uploads.maxFiles} files`);
  if (error instanceof SyntaxError) return new BodyError('The body is not valid JSON.', { cause: error });
  // Any other of formidable's, except that the connection has ended.
  if (typeof httpCode === 'number' && code !== 1002) return new BodyError(MALFORMED, { cause: error });
  return error;
}

function tooMuch(what: string): BodyError {
  return new BodyError(`The body has ${what}.`, { status: 413 });
}

function isOfFileSystem(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error && 'path' in error;
}
