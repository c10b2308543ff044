/**
 * Preloaded with `--import`: makes this process believe that it runs on the Node that `PRETEND_NODE` names, and tells on
 * exit what of the dependencies has run by then.
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
