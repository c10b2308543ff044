import test from './test.ts';

/** Whether what the machine lacks fails tests instead of skipping them. */
export const mustHaveEverything: boolean = !['', '0', 'false'].includes(process.env['CI'] ?? '');

/** Prints what the machine lacks for some of the tests. */
export function sayMissing(what: string): void {
  if (mustHaveEverything) {
    test(what, (t) => t.fail('CI is set, so no test may be skipped'));
  } else {
    console.warn(`SKIPPED, ${what}`);
    test.skip(what, () => {});
  }
}
