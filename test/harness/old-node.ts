/**
 * Preloaded with `--import`: sets the version of Node that this process reports to `PRETEND_NODE`, and writes at exit which
 * CommonJS modules and native add-ons were loaded.
 */
import { createRequire } from 'node:module';

const { PRETEND_NODE: version = '20.20.2' } = process.env;
Object.defineProperty(process, 'versions', { value: { ...process.versions, node: version } });
Object.defineProperty(process, 'version', { value: `v${version}` });

const loaded: string[] = [];
const dlopen = process.dlopen.bind(process);
process.dlopen = (module, filename, flags) => {
  loaded.push(filename);
  dlopen(module, filename, flags);
};
process.once('exit', () => {
  const cached = Object.values(createRequire(import.meta.url).cache).filter((one) => one?.loaded);
  for (const one of [...loaded, ...cached.map((module) => module?.filename)])
    process.stderr.write(`LOADED ${one}\n`);
});
