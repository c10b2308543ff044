/**
 * A PDF service for the client `koa-gatehouse/pdf`: it extracts the content of PDFs and renders their pages as images.
 *
 *     npm run pdf-service
 */
import { stopOnSignals } from '../server/shutdown.ts';
import { startPdfService } from './service.ts';
import { SettingsError, USAGE, readSettings } from './settings.ts';

try {
  await run();
} catch (error) {
  process.stderr.write(`${explain(error)}\n`);
  process.exit(1);
}

async function run(): Promise<void> {
  if (process.argv.length > 2) {
    process.stdout.write(USAGE);
    return;
  }
  const settings = readSettings(process.env);
  const service = await startPdfService(settings);
  stopOnSignals(() => service.stop());
  const key = settings.apiKey === '' ? 'without an API key' : 'with the API key of PDF_API_KEY';
  process.stdout.write(`The PDF service listens at ${service.url}, ${key}.\n`);
}

function explain(error: unknown): string {
  if (error instanceof SettingsError) return error.message;
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && error.code === 'EADDRINUSE') {
    return `${error.message}. Stop the program that listens there, or choose another port: PORT=0 npm run pdf-service.`;
  }
  return error.stack ?? error.message;
}
