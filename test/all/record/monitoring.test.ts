import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import test from '../../harness/test.ts';
import { agents, devices, openid, personalTokens } from 'koa-gatehouse';
import { createMetrics } from 'koa-gatehouse/metrics';

import { mustHaveEverything } from '../../harness/missing.ts';
import { moveIn, startLaravel } from '../../laravel-passport/moved-platform.ts';

const folder = join(import.meta.dirname, '../../../monitoring');
const dashboard = readFileSync(join(folder, 'grafana-dashboard.json'), 'utf8');
const rules = readFileSync(join(folder, 'alerts.yml'), 'utf8');

/** The names of metrics in a text. */
function namesIn(text: string): string[] {
  const found = text.matchAll(/gatehouse_\w+/g);
  const names = Array.from(found, ([name]) => name.replace(/_(?:bucket|count|sum)$/, ''));
  return [...new Set(names)].toSorted();
}

test('the dashboard shows each metric, and it and the alerts name only metrics and labels that there are', async (t) => {
  await using laravel = await startLaravel('11');
  await using platform = await moveIn(laravel, {
    features: [
      agents({ documents: false, registration: { scopes: [] } }),
      devices(),
      openid(),
      personalTokens(),
    ],
  });
  const { register } = createMetrics(platform.auth);
  const metrics = await register.getMetricsAsJSON();
  t.deepEqual(namesIn(dashboard), metrics.map(({ name }) => name).toSorted());
  for (const [all, name = ''] of `${dashboard}${rules}`.matchAll(/(gatehouse_\w+)\{([^}]*)\}/g)) {
    const metric = register.getSingleMetric(name.replace(/_bucket$/, '')) as
      | { readonly labelNames: readonly string[] }
      | undefined;
    t.truthy(metric, `${name} is no metric`);
    const labels = Array.from(all.matchAll(/(\w+)=~?\\?"/g), ([, label]) => label!);
    for (const label of labels.filter((one) => one !== 'job'))
      t.true(metric!.labelNames.includes(label), `${name} has no label ${label}`);
  }
});

test('the panels of the dashboard have titles of their own and do not overlap', (t) => {
  const { panels } = JSON.parse(dashboard) as {
    panels: readonly { title: string; gridPos: { x: number; y: number; w: number; h: number } }[];
  };
  t.is(new Set(panels.map(({ title }) => title)).size, panels.length);
  const cells = panels.flatMap(({ gridPos: { h, w, x, y } }) =>
    Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
  );
  t.is(new Set(cells).size, cells.length);
});

// Debian's package `prometheus` has promtool.
const withPromtool = existsSync('/usr/bin/promtool') || mustHaveEverything ? test : test.skip;

withPromtool('each alert is raised when it should be, and none when nothing is wrong', async (t) => {
  const { stdout } = await promisify(execFile)('promtool', ['test', 'rules', 'alerts.test.yml'], {
    cwd: folder,
  });
  t.regex(stdout, /SUCCESS/);
  const tests = readFileSync(join(folder, 'alerts.test.yml'), 'utf8');
  for (const [, alert] of rules.matchAll(/alert: (\w+)/g))
    t.is(tests.match(new RegExp(`alertname: ${alert}\\b`, 'g'))?.length, 2, alert);
});
