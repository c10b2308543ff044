/** The names of Unicode's properties and of their values, by every spelling. The package has no types of its own. */
declare module 'unicode-match-property-value-ecmascript/data/mappings.js' {
  const mappings: ReadonlyMap<string, ReadonlyMap<string, string>>;
  export default mappings;
}
