/** A row of its own for whoever asked, so that nobody changes what is stored by changing what was returned. */
export function copy<Row>(row: Row): Row {
  return structuredClone(row);
}

/** A row as it comes back from a database: its payload went through JSON. */
export function copyWithPayload<Row extends { readonly payload: Readonly<Record<string, unknown>> }>(
  row: Row,
): Row {
  return { ...structuredClone(row), payload: JSON.parse(JSON.stringify(row.payload)) };
}
