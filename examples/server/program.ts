import { resolve } from 'node:path';

/** Whether this is the package `koa-gatehouse-example`, whose files are JavaScript, and not a checkout of the repository. */
const isPackage = import.meta.filename.endsWith('.js');

/** The command that starts the example. */
export const COMMAND: string = isPackage ? 'npx koa-gatehouse-example' : 'npm start';

/** In front of the options of the command. */
export const COMMAND_WITH_OPTIONS: string = isPackage ? COMMAND : `${COMMAND} --`;

/** The command that starts the PDF service by itself; the package has none. */
export const PDF_SERVICE_COMMAND: string | undefined = isPackage ? undefined : 'npm run pdf-service';

/** The command that makes the driver of a database available. */
export function driverCommand(driver: string): string {
  return isPackage
    ? `npx -p koa-gatehouse-example -p ${driver} koa-gatehouse-example`
    : `npm install ${driver}`;
}

/** The default of `DATA_DIR`. npm deletes the folder of a package that `npx` has installed. */
export const DATA_DIRECTORY: string = isPackage
  ? resolve('gatehouse-example-data')
  : resolve(import.meta.dirname, '../../.data');
