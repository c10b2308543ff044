import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Context, DefaultContext, Middleware, Request } from 'koa';
import type { RouterContext } from 'koa-router';

import { readmit } from '../access/reauthentication.ts';
import type { Logger } from '../contracts/index.ts';
import { BodyError } from '../errors.ts';
import { discardRest, isUnread, readBody, receiveBody, textOf } from '../http/body.ts';
import { whenSent } from '../http/connection.ts';
import { parseIJson } from '../http/json.ts';
import { sendProblem } from '../http/problem.ts';
import type { ReauthenticatorOf } from './actions/answer.ts';
import type { BodyLimits } from './limits.ts';

/** The context of routes that a host adds to the API. */
export interface RouteBody extends DefaultContext {
  readonly request?: Request & {
    /** The value of a JSON body, or the fields of a form or a multipart body. `undefined` when there was no such body. */
    body?: unknown;
    /** The text of a JSON body or a form, for verifying its signature. */
    rawBody?: string;
    /**
     * The files of a multipart body by field name; several files of one field are in their order. They are deleted after the response.
     */
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

/** Creates the parsers of the bodies of the routes that a host adds. */
export interface BodyParsers {
  /** Starts to load the parser of forms. */
  readonly load: () => void;
  /** Creates a middleware that parses an unread JSON, form or multipart body. Other bodies are left to the route. */
  readonly create: (limits: BodyLimits) => Middleware;
  /** Creates the same for all routes. It does nothing where a middleware of `create` is for the route. */
  readonly createForRoutes: (limits: BodyLimits) => Middleware;
}

/** The methods whose body has defined semantics (RFC 9110 section 9.3). */
export const METHODS_WITH_BODY: readonly string[] = ['POST', 'PUT', 'PATCH'];

/** @param parts.reauthenticatorOf - authenticates a request again when its body has arrived */
export function createBodyParsers({
  logger,
  reauthenticatorOf,
}: {
  readonly logger: Logger;
  readonly reauthenticatorOf: ReauthenticatorOf;
}): BodyParsers {
  const created = new WeakSet<object>();
  let loading: ReturnType<typeof importKoaBody> | undefined;
  const load = async () => (loading ??= importKoaBody());

  /** Parses a form or a multipart body. */
  async function parseForm(ctx: Context, { maxBodyBytes, uploads }: BodyLimits): Promise<void> {
    const { koaBody } = await load();
    const isMultipart = ctx.is(MULTIPART) === MULTIPART;
    const begun: unknown[] = [];
    let isNameless = false;
    const parse = koaBody({
      json: false,
      text: false,
      // `receiveBody()` enforces the limit.
      formLimit: Number.MAX_SAFE_INTEGER,
      queryString: {
        allowDots: false,
        arrayLimit: uploads.maxFields,
        parameterLimit: uploads.maxFields,
        throwOnLimitExceeded: true,
      },
      includeUnparsed: true,
      multipart: isMultipart,
      formidable: {
        ...(isMultipart && { uploadDir: await temporaryDirectory(ctx, logger) }),
        maxFields: uploads.maxFields,
        maxFieldsSize: maxBodyBytes,
        maxFiles: uploads.maxFiles,
        maxFileSize: Infinity,
        allowEmptyFiles: true,
        minFileSize: 0,
        // For a file field without a chosen file, a browser sends a part with an empty file name.
        filter: ({ originalFilename }) => originalFilename !== '',
        onFileBegin: (_name, file) => begun.push(file),
        onPart(part, handle) {
          const { mimetype, name, originalFilename } = part;
          if (name === null || name === PROTOTYPE) {
            isNameless = true;
            return;
          }
          handle(
            Object.assign(part, {
              // A part with a file name is a file, whatever its media type (RFC 7578 section 4.2).
              mimetype: originalFilename === null ? null : (mimetype ?? 'application/octet-stream'),
              // formidable has decoded the content already, and would use the transfer encoding as a charset.
              transferEncoding: 'utf-8',
            }),
          );
        },
      },
    });
    const rules = { limit: isMultipart ? uploads.maxBodyBytes : maxBodyBytes, name: 'body' } as const;
    const fault = await receiveBody(ctx, rules, async () => {
      try {
        await parse(ctx, async () => {});
        return isNameless ? new BodyError(MALFORMED) : null;
      } catch (error) {
        return toFault(error, { maxBodyBytes, uploads });
      }
    });
    if (fault) throw discardRest(ctx, fault);
    // koa-body lists the files of a field in the order in which they were written to the disk.
    for (const files of Object.values((ctx.request as NonNullable<RouteBody['request']>).files ?? {}))
      if (Array.isArray(files)) files.sort((one, other) => begun.indexOf(one) - begun.indexOf(other));
  }

  function create(limits: BodyLimits): Middleware {
    return async (ctx, next) => {
      if (!isUnread(ctx.req)) return next();
      const reauthenticate = reauthenticatorOf(ctx);
      if (ctx.is(MULTIPART, 'urlencoded')) await parseForm(ctx, limits);
      else if (ctx.is('json', '+json')) await parseJson(ctx, limits);
      const problem = await readmit(ctx, reauthenticate);
      return problem ? sendProblem(ctx, problem) : next();
    };
  }

  /** Whether a middleware of `create` is in a route that koa-router has found for a request, or before or behind it. */
  function hasOwnParser({ matched = [], method }: RouterContext): boolean {
    const running = matched.filter(({ methods }) => methods.length === 0 || methods.includes(method));
    return running.some(({ stack }) => stack.some((middleware) => created.has(middleware)));
  }

  return {
    load() {
      // The first request that needs the parser is answered with the error.
      load().catch(() => {});
    },
    create(limits) {
      const parse = create(limits);
      created.add(parse);
      return parse;
    },
    createForRoutes(limits) {
      const parse = create(limits);
      return (ctx, next) =>
        METHODS_WITH_BODY.includes(ctx.method) && !hasOwnParser(ctx as RouterContext)
          ? parse(ctx, next)
          : next();
    },
  };
}

async function importKoaBody() {
  return import('koa-body');
}

const MULTIPART = 'multipart/form-data';

// A route may merge the value into another object.
const PROTOTYPE = '__proto__';

/** Parses JSON as everywhere in the server, because koa-body would replace bytes that are not UTF-8. */
async function parseJson(ctx: Context, { maxBodyBytes }: BodyLimits): Promise<void> {
  const found = await readBody(ctx, { limit: maxBodyBytes, name: 'body' });
  const rawBody = found && !('value' in found) ? textOf(found) : '';
  const body = rawBody === '' ? undefined : parseIJson(rawBody, PROTOTYPE);
  Object.assign(ctx.request, { body, rawBody });
}

/** Creates a directory for the files of a request. It is deleted when the response was sent or the connection was closed. */
async function temporaryDirectory({ res }: Context, logger: Logger): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-upload-'));
  const remove = (): void => {
    // With retries, because formidable may still create a file.
    rm(folder, { recursive: true, force: true, maxRetries: 5 }).catch((error: unknown) =>
      logger.warn({ err: error, folder }, 'uploaded files could not be removed'),
    );
  };
  whenSent(res, remove);
  return folder;
}

const MALFORMED = `The body is not valid ${MULTIPART}.`;

/** Converts an error of koa-body: a `BodyError`, or a fault of the server. */
function toFault(error: unknown, { maxBodyBytes, uploads }: BodyLimits): Error {
  const { code, httpCode, path, syscall } = Object(error) as Readonly<Record<string, unknown>>;
  if (error instanceof Error && path !== undefined && syscall !== undefined) return error;
  // The codes are those of formidable's FormidableError.js; a `RangeError` is of qs.
  if (code === 1007 || error instanceof RangeError) return tooMuch(`more than ${uploads.maxFields} fields`);
  if (code === 1006) return tooMuch(`fields of more than ${maxBodyBytes} bytes`);
  if (code === 1015) return tooMuch(`more than ${uploads.maxFiles} files`);
  // Any other error of formidable means a malformed body, except 1002: the connection was closed.
  const isMalformed = httpCode !== undefined && code !== 1002;
  return new BodyError(isMalformed ? MALFORMED : 'The body could not be read.', { cause: error });
}

function tooMuch(what: string): BodyError {
  return new BodyError(`The body has ${what}.`, { status: 413 });
}
