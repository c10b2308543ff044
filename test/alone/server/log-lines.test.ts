import { mock } from 'node:test';

import test from '../../harness/test.ts';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { pages } from 'koa-gatehouse/interactions';

import { recordingLogger, startPlatform } from '../../harness/platform.ts';
import { until } from '../../harness/until.ts';

const DAY = 86_400;

test.serial('a server that has started says so in a line, and each day that its jobs work', async (t) => {
  mock.timers.enable({ apis: ['setInterval', 'Date'] });
  try {
    const logger = recordingLogger();
    const storage = memoryStorage();
    await using platform = await startPlatform({ logger, storage });
    const linesOf = (message: string): object[] =>
      logger.lines.filter((line) => line.level === 'info' && line.message === message);
    t.deepEqual(linesOf('authorization server started'), [
      {
        level: 'info',
        message: 'authorization server started',
        fields: {
          issuer: platform.origin,
          node: process.version,
          durable: false,
          signing_key_age_seconds: 0,
        },
      },
    ]);
    t.deepEqual(linesOf('running'), []);
    for (const day of [1, 2]) {
      mock.timers.tick(DAY * 1000);
      await until(() => linesOf('running').length === day);
      t.like(linesOf('running').at(-1), {
        fields: { issuer: platform.origin, signing_key_age_seconds: day * DAY, rows_removed: 0 },
      });
    }
  } finally {
    mock.timers.reset();
  }
});

const API = 'https://documents.example/v1';

test.serial('scopes that a second language does not translate are named at start', async (t) => {
  const options = {
    scopes: { 'schools:read': { description: 'See your schools', permissions: ['view_schools'] } },
    resources: { [API]: { scopes: { read: { description: 'Read your documents', permissions: [] } } } },
  } as const;
  const german = {
    'scope.schools:read': 'Ihre Schulen sehen',
    [`scope.${API} read`]: 'Ihre Dokumente lesen',
  };
  for (const [interactions, expected] of [
    [pages({ language: ['en', 'de'] }), [{ language: 'de', missing: Object.keys(german) }]],
    [
      pages({ language: ['en', 'de'], text: { de: { 'scope.schools:read': 'Ihre Schulen sehen' } } }),
      [{ language: 'de', missing: [`scope.${API} read`] }],
    ],
    [pages({ language: ['en', 'de'], text: { de: german } }), []],
    [pages({ language: 'de' }), []],
  ] as const) {
    await using platform = await startPlatform({ ...options, interactions });
    t.deepEqual(
      platform.logger.lines.filter(({ message }) => message.startsWith('scopes without a translation')),
      expected.map((fields) => ({
        level: 'warn',
        message: 'scopes without a translation: add them to the option text of pages()',
        fields,
      })),
    );
  }
});
