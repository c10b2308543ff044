/** The columns of a {@link Delivery}, in a table that has one of its receiver and others beside them. */
export const DELIVERY_COLUMNS = {
  id: 'id',
  created_at: 'integer',
  // Who answers for the receiver. Null: the platform.
  owner_id: 'id?',
  // Null when the receiver was told, or is not told any more.
  due_at: 'integer?',
  attempts: 'integer',
  attempt: 'id?',
  answered_at: 'integer?',
  error: 'id?',
  expires_at: 'integer',
} as const;
