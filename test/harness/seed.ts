/** Of random input, so that it is the same in each run. `SEED` in the environment gives other input. */
export const SEED: number = Number(process.env['SEED'] ?? 1);
