/**
 * The portal's documents: a user uploads a PDF and sees its outline and its pages. A PDF service, called with
 * `koa-gatehouse/pdf`, extracts the outline and renders the pages.
 */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';

import type { Context } from 'koa';
import Router from 'koa-router';

import type { Session, Sessions } from '../portal/session.ts';
import { sameOrigin } from '../portal/same-origin.ts';
import type { Render } from '../views.ts';
import { explain } from './explain.ts';
import { outlineOf } from './outline.ts';
import type { PdfAccess } from './pdf-service.ts';
import { DocumentStore } from './document-store.ts';
import type { Document } from './document-store.ts';
import { receiveUpload } from './upload.ts';

export interface DocumentsOptions {
  /** The portal's base URL. */
  readonly baseUrl: string;
  /** Where documents are stored. */
  readonly folder: string;
  readonly pdf: PdfAccess;
  readonly render: Render;
}

/** What the portal's middleware puts into `ctx.state`. */
export interface DocumentsState {
  sessions: Sessions;
}

/** How many pages of a document are shown. */
const MOST_PAGES = 20;
/** How many documents a session has; the size of its cookie is limited. */
const MOST_DOCUMENTS = 5;

/** Makes the routes, below `/portal/documents`. */
export function createDocuments<State extends DocumentsState>({
  baseUrl,
  folder,
  pdf,
  render,
}: DocumentsOptions): Router<State> {
  const router = new Router<State>({ prefix: '/documents' });
  const store = new DocumentStore(folder);

  router.use(async (ctx, next) => {
    const session = ctx.state.sessions.read(ctx);
    if (session.tokens) {
      await next();
      return;
    }
    const notice = { kind: 'plain', text: 'Connect your account first to read documents here.' } as const;
    ctx.state.sessions.write(ctx, { ...session, notice });
    ctx.redirect(`${baseUrl}/portal`);
  });

  router.get('/', async (ctx) => {
    const { documents = [] } = ctx.state.sessions.read(ctx);
    const found = await Promise.all(documents.map((id) => store.find(id)));
    show(ctx, { documents: found.filter((document) => document !== undefined) });
  });

  router.post('/', sameOrigin(baseUrl), async (ctx) => {
    try {
      const { id } = await receive(ctx);
      const session = ctx.state.sessions.read(ctx);
      const documents = [id, ...(session.documents ?? [])].slice(0, MOST_DOCUMENTS);
      ctx.state.sessions.write(ctx, { ...session, documents });
      ctx.status = 303;
      ctx.redirect(`${baseUrl}/portal/documents/${id}`);
    } catch (error) {
      const problem = explain(error);
      ctx.status = problem.status;
      show(ctx, { problem });
    }
  });

  router.get('/:id', async (ctx) => {
    const document = await find(ctx.state.sessions.read(ctx), ctx.params['id']);
    if (!document) return;
    const pictures = Math.min(document.pages, MOST_PAGES);
    render(ctx, 'portal-document', { title: document.name, connected: true, document, pictures });
  });

  router.get('/:id/pages/:page', async (ctx) => {
    const document = await find(ctx.state.sessions.read(ctx), ctx.params['id']);
    const page = Number(ctx.params['page']);
    if (!document || !Number.isInteger(page) || page < 1 || page > document.pages) return;
    try {
      const picture = { page, format: 'jpg', width: 1200 } as const;
      const client = await pdf.client();
      const { stream, contentType, contentLength } = await client.renderStream(
        store.pathOf(document),
        picture,
      );
      ctx.set({ 'Cache-Control': 'private, max-age=3600', 'X-Content-Type-Options': 'nosniff' });
      ctx.type = contentType;
      if (contentLength !== undefined) ctx.length = contentLength;
      ctx.body = stream;
    } catch (error) {
      const { status, text } = explain(error);
      ctx.status = status;
      ctx.body = text;
    }
  });

  /** Receives an upload, extracts its outline and stores it. */
  async function receive(ctx: Context): Promise<Document> {
    const upload = await receiveUpload(ctx, await store.uploadFolder());
    try {
      const tree = await (await pdf.client()).extract(upload);
      const document = {
        id: randomUUID(),
        name: upload.originalFilename || 'document.pdf',
        pages: tree['number of pages'] ?? 1,
        outline: outlineOf(tree),
      };
      await store.add(upload.filepath, document);
      return document;
    } finally {
      await rm(upload.filepath, { force: true });
    }
  }

  /** A document of this session. For other sessions it does not exist. */
  async function find({ documents = [] }: Session, id: string | undefined): Promise<Document | undefined> {
    return id !== undefined && documents.includes(id) ? store.find(id) : undefined;
  }

  function show(ctx: Context, page: object): void {
    render(ctx, 'portal-documents', { title: 'Documents', connected: true, documents: [], ...page });
  }

  return router;
}
