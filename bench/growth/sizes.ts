/** Number of rows of each growing table. */
export interface Sizes {
  readonly sendLog: number
  /** Inbox items; a tenth belongs to the calling user. */
  readonly inbox: number
  /** Rows of the audit and of the login audit each. */
  readonly audits: number
  readonly events: number
  readonly users: number
  readonly tasks: number
  /** Recorded calls and usage rows each. */
  readonly calls: number
  readonly configChanges: number
  /** Payment orders, mall orders and their payments each. */
  readonly orders: number
  /** Sources of points; half as many rewarded orders. */
  readonly points: number
  /** Alert states of rules. There are few rules. */
  readonly alerts: number
  /** Entries of the money ledger; half as many journals, and an account and a hold per user. */
  readonly entries: number
}

/** A thousand rows per table, also in the inbox of the calling user. */
export const small: Sizes = {
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

/** @param rows of the send log; at least 100,000. The other tables are in proportion to it. */
export const grown = (rows: number): Sizes => ({
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
