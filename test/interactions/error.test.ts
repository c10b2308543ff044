import test from '../harness/test.ts';
import { fakeFlow } from './fake-flow.ts';
import { servePages } from './serve-pages.ts';

const FAILED = { status: 400, error: 'invalid_request', description: '', reference: '' };

test('the page says what happened and what to do, and shows the developer’s details below', async (t) => {
  const site = await servePages(t, fakeFlow());
  const description = "'state' parameter must not be provided twice";
  const page = await site.fail({ ...FAILED, description, reference: 'r-1' });
  t.is(page.status, 400);
  t.true(page.html.includes('<title>This link is incomplete · Acme</title>'));
  t.true(page.text.includes('tell its developer.'));
  t.true(page.text.includes('Error invalid_request'));
  t.true(page.text.includes('For developers &#39;state&#39; parameter must not be provided twice'));
  t.true(page.text.includes('Reference r-1'));
  t.is(page.headers.get('cache-control'), 'no-store');
  t.regex(page.headers.get('content-security-policy') ?? '', /form-action 'self'/);
});

test('a refused scope is named and escaped; what the page says itself is not repeated in English', async (t) => {
  const site = await servePages(t, fakeFlow(), { brand: { name: 'Acme' }, language: 'de' });
  for (const error of ['invalid_client', 'invalid_redirect_uri', 'invalid_scope']) {
    const scope = error === 'invalid_scope' ? '<b>\u202Estrange' : undefined;
    const page = await site.fail({ ...FAILED, error, description: 'is invalid', scope });
    t.is(/<dd>&lt;b&gt;strange<\/dd>/.test(page.html), scope !== undefined, error);
    t.false(page.html.includes('is invalid'), error);
  }
});

test('every error page leads on: home, and to the same page where that may help', async (t) => {
  const bundled = await servePages(t, fakeFlow({ flow: { basePath: '/school' } }));
  for (const error of ['invalid_client', 'invalid_request', 'interaction_expired', 'something_else']) {
    const { html } = await bundled.fail({ ...FAILED, error });
    t.regex(html, /<a class="button" href="\/">Go to Acme<\/a>/, error);
    t.false(html.includes('Try again</a>'), error);
  }
  for (const error of ['server_error', 'temporarily_unavailable', 'too_many_attempts']) {
    const { html } = await bundled.fail({ ...FAILED, error });
    t.regex(html, /<a class="button" href="\/school\/error">Try again<\/a>\s*<a [^>]*>Go to Acme</, error);
  }
  const brand = { name: 'Acme', home: 'https://acme.example/start' };
  const own = await servePages(t, fakeFlow(), { brand });
  t.true((await own.fail(FAILED)).html.includes(`href="${brand.home}">Go to Acme</a>`));
  const cut = await own.post('/oauth/login', { login: 'x'.repeat(200_000) });
  t.is(cut.status, 413);
  t.regex(cut.html, /href="\/oauth\/login">Try again<\/a>/);
});

test('each registered error code has its own text, and an unknown one has a text by its status', async (t) => {
  const site = await servePages(t, fakeFlow());
  const headings = new Set<string | undefined>();
  const codes = [
    'access_denied',
    'interaction_expired',
    'invalid_client',
    'invalid_redirect_uri',
    'invalid_request',
    'invalid_scope',
    'server_error',
    'temporarily_unavailable',
    'unauthorized_client',
    'unsupported_response_type',
  ];
  for (const error of codes) {
    const page = await site.fail({ ...FAILED, error });
    headings.add(/<h1>(.+)<\/h1>/.exec(page.html)?.[1]);
  }
  t.is(headings.size, codes.length);
  t.false(headings.has('That did not work'));
  for (const error of ['invalid_target', 'constructor', '__proto__', '<script>']) {
    for (const [status, heading] of [
      [500, 'Something went wrong on our side'],
      [400, 'That did not work'],
    ] as const) {
      const page = await site.fail({ ...FAILED, status, error });
      t.is(page.status, status);
      t.true(page.text.includes(heading), error);
      t.false(page.text.includes('Reference'));
      t.false(page.html.includes('<script'));
    }
  }
});

test('the description is escaped', async (t) => {
  const site = await servePages(t, fakeFlow());
  const { html } = await site.fail({
    ...FAILED,
    description: '<img src=x onerror=alert(1)>',
    reference: '"><b>',
  });
  t.true(html.includes('<dd>&lt;img src=x onerror=alert(1)&gt;</dd>'));
  t.true(html.includes('<dd>&#34;&gt;&lt;b&gt;</dd>'));
});
