import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';

import test from '../../harness/test.ts';

import { blocksOf, fileName, GUIDES, ROOT } from '../../docs/guides.ts';

/** A block of TypeScript. */
interface Block {
  /** Where the block begins, such as `docs/actions.md:12`. */
  readonly place: string;
  readonly code: string;
  /** The file that the block is compiled as, below a folder: those of one guide that have names import each other. */
  readonly file: string;
}

function blocksIn(guide: string): Block[] {
  return blocksOf(guide, 'ts').map(({ code, line }) => {
    const place = `${guide}:${line}`;
    return {
      place,
      code,
      file: fileName(code) === undefined ? fileOf(place) : `${fileOf(guide)}/${fileName(code)}`,
    };
  });
}

/** A flat name for a place. */
function fileOf(place: string): string {
  return place.replaceAll(/[/:.]/g, '-') + (place.includes(':') ? '.ts' : '');
}

/** Type-checks the blocks as in an app that uses the package, and resolves to the output of the compiler. */
async function check(blocks: readonly Block[]): Promise<string> {
  // Inside the package, so that its name resolves, in a folder that git ignores.
  mkdirSync(join(ROOT, '.data'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, '.data/guides-'));
  try {
    const options = { noUnusedLocals: false, noUnusedParameters: false };
    const above = relative(folder, ROOT);
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({
        extends: `${above}/tsconfig.json`,
        compilerOptions: { ...options, declaration: false, rootDir: above },
        include: ['**/*.ts', `${above}/test/docs/ambient.ts`],
      }),
    );
    for (const { code, file } of blocks) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), `export {};${code}`);
    }
    const output = await compile(folder);
    return blocks.reduce(
      (text, { file, place }) => text.replaceAll(`${basename(folder)}/${file}(`, `${place}(`),
      output.replaceAll(/^.*?(?=\bguides-)/gm, ''),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function compile(folder: string): Promise<string> {
  return new Promise((done) => {
    execFile(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder, '--pretty', 'false'], (_error, stdout) => {
      done(stdout);
    });
  });
}

test('every TypeScript block in the README and the guides compiles', async (t) => {
  const blocks = GUIDES.flatMap(blocksIn);
  t.true(blocks.length > 20, `only ${blocks.length} blocks were found`);
  // A block that does not compile is added: the compiler must report it, by its place, and nothing else.
  const place = 'docs/wrong.md:7';
  const wrong = { place, code: "\nauth.requires('view_schols');\n", file: fileOf(place) };
  const output = await check([...blocks, wrong]);
  const errors = output.split('\n').filter((line) => /^\S/.test(line));
  t.deepEqual(
    errors.filter((line) => !line.startsWith(wrong.place)),
    [],
  );
  t.is(errors.length, 1);
  t.regex(output, /^docs\/wrong\.md:7\(2,\d+\): error TS2769: .*\n.*\n.*"view_schols"/m);
});
