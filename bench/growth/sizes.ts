/** Rows of each table that grows. */
export interface Sizes {
  readonly sendLog: number
  /** Items of inboxes, a tenth of them in the one that is asked. */
  readonly inbox: number
  /** Of the audit and, as many again, of the login audit. */
  readonly audits: number
  readonly events: number
  readonly users: number
  readonly tasks: number
  /** Calls recorded and, as many again, lines of usage. */
  readonly calls: number
  readonly configChanges: number
  /** Payment orders, and orders of the mall; with as many payments of them. */
  readonly orders: number
  /** Sources of points; half as many orders that were rewarded. */
  readonly points: number
  /** Alerts that rules remember; rules themselves are few. */
  readonly alerts: number
  /** Of the money ledger: half as many journals, an account and a hold for each user. */
  readonly entries: number
}

/** A thousand of everything; of the inbox that is asked, too. */
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

/** @param rows of the send log; at least 100,000. The other tables are in proportion, as far as one was seen in products. */
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
