/** Rows of each table that grows. */
export interface Sizes {
  readonly sendLog: number
  /** Of the audit and, as many again, of the login audit. */
  readonly audits: number
  readonly events: number
  readonly users: number
  readonly tasks: number
  /** Calls recorded and, as many again, lines of usage. */
  readonly calls: number
  readonly configChanges: number
  /** Alerts that rules remember; rules themselves are few. */
  readonly alerts: number
}

/** A thousand of everything. */
export const small: Sizes = {
  sendLog: 1_000,
  audits: 1_000,
  events: 1_000,
  users: 1_000,
  tasks: 1_000,
  calls: 1_000,
  configChanges: 1_000,
  alerts: 1_000,
}

/** @param rows of the send log; at least 100,000. The other tables are in proportion, as far as one was seen in products. */
export const grown = (rows: number): Sizes => ({
  sendLog: rows,
  audits: rows,
  events: rows / 2,
  users: rows / 5,
  tasks: (rows * 3) / 10,
  calls: rows / 10,
  configChanges: rows / 50,
  alerts: rows / 10,
})
