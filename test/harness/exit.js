import test, { registerCompletionHandler } from 'ava';

/** Milliseconds after the last test. Connections that are being closed need some. */
const PATIENCE = 10_000;

// ava waits without a limit for a process in which something is still open after its last test, when a test with a long limit of its own
// runs elsewhere: one connection would keep a whole run from its end. What was open is printed.
registerCompletionHandler(() => {
  setTimeout(() => {
    const open = process.getActiveResourcesInfo().filter((kind) => kind !== 'PipeWrap');
    console.warn(`${PATIENCE / 1000} s after its last test, ${test.meta.file} has open: ${open.join(', ')}`);
    process.exit();
  }, PATIENCE).unref();
});
