// Builds the package koa-gatehouse-example, the example server without a checkout: node build-example.ts [folder]. The default folder is
// dist-example.
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

import { transformSync } from 'esbuild';

const root = import.meta.dirname;
const folder = resolve(process.argv[2] ?? join(root, 'dist-example'));
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  name: string;
  version: string;
  license: string;
  author: string;
  repository?: unknown;
  homepage?: string;
  bugs?: unknown;
  engines: Record<string, string>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
};

rmSync(folder, { recursive: true, force: true });

/** The packages that the example imports. Knex loads the driver, and `koa-gatehouse` those of its metrics, of MCP and of the API's page. */
const packages = new Set([
  'better-sqlite3',
  'prom-client',
  '@modelcontextprotocol/server',
  'swagger-ui-dist',
]);

// One JavaScript file for each TypeScript file, because Node strips no types below node_modules. The files stay beside their views.
const examples = join(root, 'examples');
const files = globSync('{server,pdf-service}/**/*.*', {
  cwd: examples,
  exclude: ['**/*.md', 'pdf-service/{main.ts,start.js}'],
});
for (const file of files) {
  const target = join(folder, file.replace(/\.ts$/, '.js'));
  mkdirSync(dirname(target), { recursive: true });
  if (/\.[jt]s$/.test(file)) writeFileSync(target, toJavaScript(readFileSync(join(examples, file), 'utf8')));
  else cpSync(join(examples, file), target);
}

const start = join(folder, 'server/start.js');
writeFileSync(start, `#!/usr/bin/env node\n${readFileSync(start, 'utf8')}`);
cpSync(join(root, 'lib/contracts/runtime.js'), join(folder, 'runtime.js'));
cpSync(join(root, 'examples/server/README.md'), join(folder, 'README.md'));
cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));

const { name, version, license, author, repository, homepage, bugs, engines } = manifest;
const versions: Readonly<Record<string, string>> = {
  ...manifest.devDependencies,
  ...manifest.dependencies,
  [name]: version,
};
const example = {
  name: `${name}-example`,
  version,
  description: `The example server of ${name}: a small school platform with an OAuth 2.0 authorization server.`,
  license,
  author,
  repository,
  homepage,
  bugs,
  type: 'module',
  bin: { [`${name}-example`]: './server/start.js' },
  imports: { '#runtime': './runtime.js' },
  engines,
  dependencies: Object.fromEntries([...packages].toSorted().map((wanted) => [wanted, versionOf(wanted)])),
};
writeFileSync(join(folder, 'package.json'), `${JSON.stringify(example, null, 2)}\n`);

/** Strips the types, and notes the packages that are imported. */
function toJavaScript(source: string): string {
  const { code } = transformSync(source, {
    loader: 'ts',
    format: 'esm',
    target: 'node22.20',
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
  });
  return code.replaceAll(
    /(\bfrom |\bimport |\bimport\()"([^"]+)"/g,
    (_, before: string, specifier: string) => {
      const imported = /^(?:@[^/]+\/)?[^./#][^/]*/.exec(specifier)?.[0];
      if (imported !== undefined && !specifier.startsWith('node:')) packages.add(imported);
      return `${before}${JSON.stringify(specifier.replace(/^(\..*)\.ts$/, '$1.js'))}`;
    },
  );
}

function versionOf(wanted: string): string {
  const found = versions[wanted];
  if (found === undefined) throw new Error(`package.json does not list ${wanted}, which the example imports`);
  return found;
}
