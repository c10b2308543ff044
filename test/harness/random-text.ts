import fc from 'fast-check';

/**
 * Text of any code points, lone surrogates among them. fast-check's own unit `binary` takes seconds to build its table of a million
 * code points.
 */
export function randomText(constraints: { readonly maxLength?: number } = {}): fc.Arbitrary<string> {
  const unit = fc.oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0, max: 0x10_ff_ff }));
  return fc.string({ ...constraints, unit: unit.map((code) => String.fromCodePoint(code)) });
}
