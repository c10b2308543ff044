import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { connect, createServer as createHttp2Server } from 'node:http2';

import { getRequestListener } from '@hono/node-server';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Controller, Get, Module, Req, Res } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import compression from 'compression';
import express from 'express';
import type { Express, Response } from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import helmet from 'helmet';

import type { AppParts } from '../harness/platform.ts';
import { listenOn } from '../harness/serve.ts';

type Host = (parts: AppParts) => RequestListener | Promise<RequestListener>;

/** A route of the host, which anybody may call, and one that needs a permission. */
export const HOST_ROUTE = '/host/open';
export const GUARDED_ROUTE = '/host/schools';

/** What a route of a host answers, whose caller has the permission. */
interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

async function schools({ auth }: AppParts, request: IncomingMessage): Promise<Answer> {
  const { principal, headers, problem } = await auth.authenticate(request, {
    permissions: ['view_schools'],
    session: true,
  });
  if (problem) return problem;
  const caller = principal.user?.id ?? principal.client!.id;
  return {
    status: 200,
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: JSON.stringify({ caller }),
  };
}

function expressHost(
  make: typeof express,
  before: (app: Express) => void = (app) => {
    app.use(helmet(), compression(), make.json(), make.urlencoded({ extended: true }));
  },
): Host {
  return (parts) => {
    const app = make();
    before(app);
    app.use(parts.auth.callback(parts.api.routes()));
    app.get(HOST_ROUTE, (_request, response) => void response.send('open'));
    app.get(GUARDED_ROUTE, (request, response, next) => {
      schools(parts, request).then((answer) => send(response, answer), next);
    });
    return app;
  };
}

function send(response: Response, { body, headers, status }: Answer): void {
  response.status(status).set(headers).send(body);
}

function fastifyHost(): Host {
  return async (parts) => {
    const app = fastify();
    const handle = parts.auth.callback(parts.api.routes());
    app.addHook('onRequest', (request, reply, done) =>
      handle(request.raw, reply.raw, (error) => done(error as Error | undefined)),
    );
    app.get(HOST_ROUTE, async () => 'open');
    app.get(GUARDED_ROUTE, async (request, reply) => {
      const { body, headers, status } = await schools(parts, request.raw);
      return reply.code(status).headers(headers).send(body);
    });
    await app.ready();
    return (request, response) => app.routing(request, response);
  };
}

/** Decorators are functions, which the types of Node cannot strip in their own syntax. */
function nestModule(parts: AppParts, answer: (response: never, answer: Answer) => unknown): new () => object {
  class Schools {
    open(): string {
      return 'open';
    }
    async schools(request: { readonly raw?: IncomingMessage }, response: never): Promise<void> {
      answer(response, await schools(parts, request.raw ?? (request as unknown as IncomingMessage)));
    }
  }
  const { prototype } = Schools;
  Controller()(Schools);
  Get(HOST_ROUTE)(prototype, 'open', Object.getOwnPropertyDescriptor(prototype, 'open')!);
  Get(GUARDED_ROUTE)(prototype, 'schools', Object.getOwnPropertyDescriptor(prototype, 'schools')!);
  Req()(prototype, 'schools', 0);
  Res()(prototype, 'schools', 1);
  class App {
    readonly name = 'host';
  }
  Module({ controllers: [Schools] })(App);
  return App;
}

async function nestOnExpress(parts: AppParts): Promise<RequestListener> {
  const app = await NestFactory.create(nestModule(parts, send), new ExpressAdapter(), { logger: false });
  app.use(parts.auth.callback(parts.api.routes()));
  await app.init();
  return app.getHttpAdapter().getInstance() as RequestListener;
}

function sendReply(
  to: { code(status: number): { headers(headers: object): { send(body: string): unknown } } },
  { body, headers, status }: Answer,
): unknown {
  return to.code(status).headers(headers).send(body);
}

async function nestOnFastify(parts: AppParts): Promise<RequestListener> {
  const module = nestModule(parts, sendReply);
  const app = await NestFactory.create<NestFastifyApplication>(module, new FastifyAdapter(), {
    logger: false,
  });
  const handle = parts.auth.callback(parts.api.routes());
  const server = app.getHttpAdapter().getInstance();
  server.addHook('onRequest', (request, { raw }, done) =>
    handle(request.raw, raw, (error) => done(error as Error | undefined)),
  );
  await app.init();
  await server.ready();
  return (request, response) => server.routing(request, response);
}

function honoHost(parts: AppParts): RequestListener {
  const app = new Hono<{ Bindings: HttpBindings }>();
  const handle = parts.auth.callback(parts.api.routes());
  app.use(async (context, next) => {
    const { incoming, outgoing } = context.env;
    const isPassed = await new Promise<boolean>((resolve, reject) => {
      outgoing.once('close', () => resolve(false));
      handle(incoming, outgoing, (error) => (error === undefined ? resolve(true) : reject(error)));
    });
    if (isPassed) return next();
    return RESPONSE_ALREADY_SENT;
  });
  app.get(HOST_ROUTE, (context) => context.text('open'));
  app.get(GUARDED_ROUTE, async (context) => {
    const { body, headers, status } = await schools(parts, context.env.incoming);
    return new Response_(body, { status, headers });
  });
  const listen = getRequestListener(async (request, env) => app.fetch(request, env));
  return (request, response) => void listen(request, response);
}

// The `Response` of the Fetch standard, beside that of Express.
const Response_ = globalThis.Response;

function nodeHost(parts: AppParts): RequestListener {
  const handle = parts.auth.callback(parts.api.routes());
  return (request, response) =>
    handle(request, response, (error) => void answerAlone(parts, { error, request, response }));
}

async function answerAlone(
  parts: AppParts,
  { error, request, response }: { error?: unknown; request: IncomingMessage; response: ServerResponse },
): Promise<void> {
  if (error !== undefined) return void response.writeHead(500).end('host');
  if (request.url === HOST_ROUTE) return void response.end('open');
  if (request.url !== GUARDED_ROUTE) return void response.writeHead(404).end('Not Found');
  const { body, headers, status } = await schools(parts, request);
  return void response.writeHead(status, headers).end(body);
}

/** The same server over HTTP/2, behind a proxy that speaks HTTP/1 with the clients of the tests. */
async function http2Host(parts: AppParts): Promise<RequestListener> {
  const { port, server } = await listenOn(createHttp2Server(nodeHost(parts) as never));
  server.on('connection', (socket) => socket.unref());
  const session = connect(`http://127.0.0.1:${port}`);
  // Nothing tells a host that the test has ended.
  server.unref();
  session.unref();
  return (request, response) => {
    const { host, ...headers } = request.headers;
    // RFC 9113 section 8.2.2.
    for (const name of ['connection', 'keep-alive', 'transfer-encoding']) delete headers[name];
    const stream = session.request({
      ...headers,
      ':method': request.method,
      ':path': request.url,
      ':authority': host,
    });
    stream.on('response', ({ ':status': status, ...fields }) => {
      for (const name of Object.getOwnPropertySymbols(fields)) Reflect.deleteProperty(fields, name);
      response.writeHead(status!, fields);
      stream.pipe(response);
    });
    stream.on('error', () => response.destroy());
    response.on('close', () => stream.close());
    request.pipe(stream);
  };
}

export const HOSTS: Readonly<Record<string, Host>> = {
  'Express 5': expressHost(express),
  'Express 4': async (parts) => expressHost((await import('express4')).default)(parts),
  'Express 5 behind raw()': expressHost(express, (app) => void app.use(express.raw({ type: () => true }))),
  'Express 5 behind text()': expressHost(express, (app) => void app.use(express.text({ type: () => true }))),
  Fastify: fastifyHost(),
  'Nest on Express': nestOnExpress,
  'Nest on Fastify': nestOnFastify,
  Hono: honoHost,
  'node:http': nodeHost,
  'node:http2': http2Host,
};
