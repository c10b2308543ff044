/** The columns of a {@link Delivery}. Its table also has a column for the receiver, and may have others. */
export const DELIVERY_COLUMNS = {
  id: 'id',
  created_at: 'integer',
  // Who answers for the receiver. Null when the platform does.
  owner_id: 'id?',
  // Null when the receiver has confirmed the delivery, or is not told any more.
  due_at: 'integer?',
  attempts: 'integer',
  attempt: 'id?',
  answered_at: 'integer?',
  error: 'id?',
  expires_at: 'integer',
} as const;
