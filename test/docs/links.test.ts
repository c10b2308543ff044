// The links in the guides, for readers of the package and of the repository.
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

import test from '../harness/test.ts';

import { manifest } from '../all/package/manifest.ts';
import { GUIDES, ROOT } from './guides.ts';
import { withoutLimitTables } from './limit-tables.ts';

/** What `npm pack` takes, without the folder of the build; npm adds these files to those of `package.json`. */
const packed: readonly string[] = [
  'LICENSE',
  'README.md',
  'package.json',
  ...globSync(
    manifest.files.filter((name) => name !== 'dist'),
    { cwd: ROOT },
  ).flatMap((name) =>
    statSync(join(ROOT, name)).isDirectory() ? globSync(`${name}/**`, { cwd: ROOT }) : [name],
  ),
];

/** The other Markdown, which only readers of the repository see. */
const unpacked = globSync(['*.md', 'docs/review/*.md', 'examples/**/*.md', 'test/**/*.md'], {
  cwd: ROOT,
  exclude: ['**/node_modules/**'],
}).filter((name) => !packed.includes(name) && name !== 'test/api-report.md');

interface Link {
  /** A path from the root of the repository. Empty: the root itself. */
  readonly file: string;
  /** The part after `#`. */
  readonly anchor: string | undefined;
  readonly text: string;
}

function textOf(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '');
}

/** The links to files, in Markdown and in HTML. */
function linksOf(file: string): Link[] {
  const links = textOf(file)
    .replaceAll(/`[^`\n]*`/g, '')
    .matchAll(/\]\((?!https?:)([^)\s]+)\)|\b(?:src|href)="(?!https?:)([^"]+)"/g);
  return Array.from(links, ([text, inMarkdown, inHtml]) => {
    const [path = '', anchor] = (inMarkdown ?? inHtml ?? '').split('#');
    const target = path === '' ? file : relative(ROOT, resolve(ROOT, file, '..', path));
    return { file: target, anchor, text: `${file}: ${text}` };
  });
}

/** The anchors of the headings of a file, as GitHub names them. */
function anchorsOf(file: string): string[] {
  const names = Array.from(textOf(file).matchAll(/^#+ (.*)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
  return names.map((name, index) => {
    const before = names.slice(0, index).filter((other) => other === name).length;
    return before === 0 ? name : `${name}-${before}`;
  });
}

function hasAnchor({ anchor, file }: Link): boolean {
  return anchor === undefined || (file.endsWith('.md') && anchorsOf(file).includes(anchor));
}

test('every link in a file of the package leads to a file and a heading of the package', (t) => {
  const pages = packed.filter((name) => name.endsWith('.md'));
  t.deepEqual(
    GUIDES.filter((name) => !pages.includes(name)),
    [],
    'add these to files of package.json',
  );
  const links = pages.flatMap(linksOf);
  t.true(links.length > 50, `only ${links.length} links were found`);
  const isPacked = (file: string): boolean =>
    packed.some((name) => name === file || name.startsWith(`${file}/`));
  t.deepEqual(
    links.filter((link) => !isPacked(link.file) || !hasAnchor(link)).map(({ text }) => text),
    [],
  );
});

test('every link in the other Markdown leads to a file and a heading of the repository', (t) => {
  t.true(unpacked.includes('docs/review/rfc9700.md'));
  const links = unpacked.flatMap(linksOf);
  t.deepEqual(
    links.filter((link) => !existsSync(join(ROOT, link.file)) || !hasAnchor(link)).map(({ text }) => text),
    [],
  );
});

test('every guide that the code names exists', (t) => {
  const files = globSync(['{adapters,bench,interactions,lib}/**/*.ts'], { cwd: ROOT });
  const named = files.flatMap(
    (file) => readFileSync(join(ROOT, file), 'utf8').match(/\bdocs\/[\w/-]+\.md\b/g) ?? [],
  );
  t.true(named.includes('docs/upgrading.md'));
  t.deepEqual(
    named.filter((name) => !existsSync(join(ROOT, name))),
    [],
  );
});

test('each guide is in the index, without the address of a registry, and all together are read in two hours', (t) => {
  let words = 0;
  const index = readFileSync(join(ROOT, 'docs/README.md'), 'utf8');
  t.true(readFileSync(join(ROOT, 'README.md'), 'utf8').includes('](docs/README.md)'));
  for (const guide of GUIDES) {
    const text = readFileSync(join(ROOT, guide), 'utf8');
    const name = guide.replace(/^docs\//, '');
    t.true(name === 'README.md' || index.includes(`](${name})`), `docs/README.md does not link to ${guide}`);
    t.false(text.includes('npmjs.'), guide);
    // The list of the options and the tables of numbers are looked up, not read.
    if (name !== 'options.md') words += withoutLimitTables(text).trim().split(/\s+/).length;
  }
  t.true(words <= 22_000, `the guides have ${words} words`);
});
