import fc from 'fast-check';

/**
 * Text of any code units, lone surrogates among them. Not of fast-check's unit `binary`, which builds a table of a million code points
 * for some seconds.
 */
export function randomText(constraints: { readonly maxLength?: number } = {}): fc.Arbitrary<string> {
  const unit = fc.oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0, max: 0x10_ff_ff }));
  return fc.string({ ...constraints, unit: unit.map((code) => String.fromCodePoint(code)) });
}
