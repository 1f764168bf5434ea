/** Number of rows of each growing table. */
export interface Sizes {
  readonly sendLog: number
  /** Number of inbox items. A tenth of them belongs to the user who calls the API. */
  readonly inbox: number
  /** Number of rows of the audit, and of the login audit. */
  readonly audits: number
  readonly events: number
  readonly users: number
  readonly tasks: number
  /** Number of recorded calls, and of usage rows. */
  readonly calls: number
  readonly configChanges: number
  /** Number of payment orders, of mall orders, and of their payments. */
  readonly orders: number
  /** Number of sources of points. There are half as many rewarded orders. */
  readonly points: number
  /** Number of alert states of rules. There are only few rules. */
  readonly alerts: number
  /** Number of entries of the money ledger. There are half as many journals, and one account and one hold per user. */
  readonly entries: number
}

/** Sizes with a thousand rows per table. The inbox of the user who calls the API also has a thousand rows. */
export const smallSizes: Sizes = {
  sendLog: 1_000,
  inbox: 10_000,
  audits: 1_000,
  events: 1_000,
  users: 1_000,
  tasks: 1_000,
  calls: 1_000,
  configChanges: 1_000,
  orders: 1_000,
  points: 1_000,
  alerts: 1_000,
  entries: 1_000,
}

/**
 * Returns the sizes of a large product.
 * @param rows number of rows of the send log, at least 100,000; other tables are in proportion to it
 */
export const sizesForRows = (rows: number): Sizes => ({
  sendLog: rows,
  inbox: rows,
  audits: rows,
  events: rows / 2,
  users: rows / 5,
  tasks: (rows * 3) / 10,
  calls: rows / 10,
  configChanges: rows / 50,
  orders: rows / 2,
  points: rows,
  alerts: rows / 10,
  entries: rows,
})
