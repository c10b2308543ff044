import test from './test.ts';

/**
 * Something that tests of a file share, such as a server. It is made when the first of them asks for it, so that loading the file starts
 * nothing, and what was put on the stack is disposed of after the last.
 *
 * Must be called while the file is loaded.
 */
export function shared<Value>(make: (stack: AsyncDisposableStack) => Promise<Value>): () => Promise<Value> {
  const stack = new AsyncDisposableStack();
  let making: Promise<Value> | undefined;
  test.after.always(async () => {
    // A test has failed with its error already.
    await making?.catch(() => {});
    await stack.disposeAsync();
  });
  return async () => (making ??= make(stack));
}
