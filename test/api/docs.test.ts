import test from 'ava';
import { z } from 'zod';

import { defineAction } from '../../lib/api/actions/define-action.ts';
import { request } from '../access/serve.ts';
import { send } from '../harness/requests.ts';
import { serveApi } from './api.ts';
import { schoolActions } from './school-actions.ts';

const { create, rename } = schoolActions();

test("the page has each action's path, permission, members and a curl command", async (t) => {
  const { origin } = await serveApi(t, {
    actions: [create, rename],
    openapi: { access: 'public', title: 'Schools' },
  });
  const { status, headers, text } = await send(`${origin}/api/v1/docs`);
  t.is(status, 200);
  t.is(headers.get('content-type'), 'text/html; charset=utf-8');
  t.regex(text, /<h1>Schools<\/h1>/);
  t.regex(text, /<a href="#post-actions-school-id-rename-school-action">Rename a school<\/a>/);
  t.regex(text, /<b>POST<\/b> \/actions\/school\/\{id\}\/rename-school-action/);
  t.regex(text, /Needs the permission <code>edit_schools<\/code>: Edit schools\./);
  t.regex(text, /<code>name<\/code> <span class="muted">string, required<\/span>/);
  t.true(
    text.includes(
      'curl &#39;https://platform.example/api/v1/actions/school/ID/rename-school-action&#39; \\\n' +
        '  --header &#39;Authorization: Bearer TOKEN&#39; \\\n' +
        '  --json &#39;{&#34;name&#34;:&#34;…&#34;}&#39;',
    ),
  );
  t.true(
    text.includes(
      '--json &#39;{&#34;items&#34;:[{&#34;id&#34;:&#34;…&#34;,&#34;input&#34;:{&#34;name&#34;:&#34;…&#34;}}]}&#39;',
    ),
  );
  t.regex(text, /<dt><code>409<\/code>/);
});

test('the page has no script and no external resource, and its Content-Security-Policy forbids them', async (t) => {
  const { origin } = await serveApi(t, { actions: [create], openapi: { access: 'public' } });
  const { headers, text } = await send(`${origin}/api/v1/docs`);
  t.notRegex(text, /<script|\son\w+=|style=|javascript:/i);
  t.deepEqual(
    [...text.matchAll(/(?:src|href)="([^#"][^"]*)"/g)].map(([, address]) => address),
    ['/api/v1/docs.css', '/api/v1/openapi.json'],
  );
  t.is(
    headers.get('content-security-policy'),
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
  );
  t.is(headers.get('x-content-type-options'), 'nosniff');
  t.is(headers.get('x-frame-options'), 'DENY');
  const style = await send(`${origin}/api/v1/docs.css`);
  t.is(style.headers.get('content-type'), 'text/css; charset=utf-8');
  t.notRegex(style.text, /url\(|@import/);
});

test('text of an action is escaped', async (t) => {
  const evil = `"'><img src=x onerror=alert(1)>&amp;`;
  const action = defineAction({
    type: 'school',
    name: 'paint-school-action',
    level: 'collection',
    title: evil,
    description: `${evil} and \`${evil}\``,
    permission: 'edit_schools',
    input: z.object({ [evil]: z.enum([evil, "it's"]).describe(evil) }),
    output: z.string().describe(evil),
    run: () => evil,
  });
  const paths = {
    [`/x/{${evil}}`]: {
      get: {
        summary: evil,
        tags: [evil],
        parameters: [{ name: evil, in: evil, description: evil }],
        responses: {
          200: { description: evil, content: { 'application/json': { schema: { title: evil } } } },
        },
      },
    },
  };
  const { origin } = await serveApi(t, {
    actions: [action],
    openapi: { access: 'public', title: evil, version: evil, description: evil, paths },
  });
  const { text } = await send(`${origin}/api/v1/docs`);
  t.true(text.includes('&#34;&#39;&#62;&#60;img src=x onerror=alert(1)&#62;&#38;amp;'));
  t.notRegex(text, /<img|&amp;/);
  t.true(text.includes(String.raw`&#39;\&#39;&#39;`), 'quoted for the shell');
});

test('routes of the host may omit parts of the OpenAPI description', async (t) => {
  const nothing = { $ref: '#/components/schemas/Nothing' };
  const loop = { $ref: '#/paths/~1b/post/requestBody' };
  const { origin } = await serveApi(t, {
    openapi: {
      access: 'public',
      paths: {
        '/a': { get: {}, parameters: {}, summary: {} },
        '/b': { post: { requestBody: loop, parameters: [loop, nothing], responses: { 200: nothing } } },
        '/c': { delete: { responses: {} }, put: { requestBody: { content: { 'application/json': {} } } } },
      },
    },
  });
  const { status, text } = await send(`${origin}/api/v1/docs`);
  t.is(status, 200);
  for (const heading of ['GET /a', 'POST /b', 'DELETE /c', 'PUT /c'])
    t.true(text.includes(`>${heading}</h3>`), heading);
  t.true(text.includes('--request DELETE'));
});

test('a public page runs no handler of the host', async (t) => {
  const ran: string[] = [];
  const handler = (ctx: { path: string; body: unknown }) => {
    ran.push(ctx.path);
    ctx.body = 'a secret';
  };
  const { origin } = await serveApi(t, {
    openapi: { access: 'public' },
    extend(api) {
      api.use(handler);
      api.all('/:anything', handler);
      api.all(/.*/, handler);
      api.get('/docs', handler);
      // Even middleware that a host moves to the front of the router's stack.
      api.stack.unshift(api.stack.pop()!);
    },
  });
  for (const path of ['/openapi.json', '/docs', '/docs.css']) {
    t.is((await request(`${origin}/api/v1${path}`)).status, 200);
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      t.is(
        (await request(`${origin}/api/v1${path}`, undefined, { method })).status,
        401,
        `${method} ${path}`,
      );
    }
    for (const spelling of [`${path}x`, path.toUpperCase(), `/${path}`, `${path}%00`, `${path}/x`]) {
      t.is((await request(`${origin}/api/v1${spelling}`)).status, 401, spelling);
    }
  }
  t.deepEqual(ran, []);
});
