import test from 'ava';
import { fakeFlow } from './fake-flow.ts';
import { servePages } from './serve-pages.ts';

test('the page says what happened and what to do, and shows the developer’s details below', async (t) => {
  const site = await servePages(t, fakeFlow());
  const page = await site.fail({
    status: 400,
    error: 'invalid_request',
    description: "'state' parameter must not be provided twice",
    reference: 'r-1',
  });
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
    const page = await site.fail({ status: 400, error, description: 'is invalid', scope, reference: '' });
    t.is(/<dd>&lt;b&gt;strange<\/dd>/.test(page.html), scope !== undefined, error);
    t.false(page.html.includes('is invalid'), error);
  }
});

test('every error page leads on: home, and to the same page where that may help', async (t) => {
  const failed = { status: 400, description: '', reference: '' };
  const bundled = await servePages(t, fakeFlow({ flow: { basePath: '/school' } }));
  for (const error of ['invalid_client', 'invalid_request', 'interaction_expired', 'something_else']) {
    const { html } = await bundled.fail({ ...failed, error });
    t.regex(html, /<a class="button" href="\/">Go to Acme<\/a>/, error);
    t.false(html.includes('Try again</a>'), error);
  }
  for (const error of ['server_error', 'temporarily_unavailable', 'too_many_attempts']) {
    const { html } = await bundled.fail({ ...failed, error });
    t.regex(html, /<a class="button" href="\/school\/error">Try again<\/a>\s*<a [^>]*>Go to Acme</, error);
  }
  const own = await servePages(t, fakeFlow(), {
    brand: { name: 'Acme', home: 'https://acme.example/start' },
  });
  const { html } = await own.fail({ ...failed, error: 'invalid_client' });
  t.true(html.includes('href="https://acme.example/start">Go to Acme</a>'));
  const cut = await own.post('/oauth/login', { login: 'x'.repeat(200_000) });
  t.is(cut.status, 413);
  t.regex(cut.html, /href="\/oauth\/login">Try again<\/a>/);
});

test('each registered error code has its own text', async (t) => {
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
    const page = await site.fail({ status: 400, error, description: '', reference: '' });
    headings.add(/<h1>(.+)<\/h1>/.exec(page.html)?.[1]);
  }
  t.is(headings.size, codes.length);
  t.false(headings.has('That did not work'));
});

test('an unknown code has a text by its status, and empty details are omitted', async (t) => {
  const site = await servePages(t, fakeFlow());
  for (const error of ['invalid_target', 'constructor', '__proto__', '<script>']) {
    const serverError = await site.fail({ status: 500, error, description: '', reference: '' });
    t.is(serverError.status, 500);
    t.true(serverError.text.includes('Something went wrong on our side'));
    const clientError = await site.fail({ status: 400, error, description: '', reference: '' });
    t.true(clientError.text.includes('That did not work'));
    t.false(clientError.text.includes('Reference'));
    t.false(clientError.html.includes('<script'));
  }
});

test('the description is escaped', async (t) => {
  const site = await servePages(t, fakeFlow());
  const page = await site.fail({
    status: 400,
    error: 'invalid_request',
    description: '<img src=x onerror=alert(1)>',
    reference: '"><b>',
  });
  t.true(page.html.includes('<dd>&lt;img src=x onerror=alert(1)&gt;</dd>'));
  t.true(page.html.includes('<dd>&#34;&gt;&lt;b&gt;</dd>'));
});
