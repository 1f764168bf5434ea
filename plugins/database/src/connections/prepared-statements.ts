import { hash } from 'node:crypto'
import { errorCodeOf, errorReason } from '@plinth/kernel'
import { StatementCache } from '../rows/bound-parameters.ts'

/** Maximum number of prepared statements per connection. */
export const preparedStatementLimit = 256

const texts = {
  pooler:
    'A connection pooler is between this instance and PostgreSQL. No statements are prepared by name, and sessions have no ' +
    'time limits on the server. Set platform.database.prepared-statements=false to confirm this.',
  forgotten:
    'The database server, or a proxy before it, did not keep a prepared statement. No statements are prepared from now on. ' +
    'Find out why, or set platform.database.prepared-statements=false to confirm this.',
} as const

/** Error codes of a server that does not know a prepared statement, or cannot store another one. */
const forgotten: ReadonlySet<unknown> = new Set([
  '26000',
  '42P05',
  'ER_UNKNOWN_STMT_HANDLER',
  'ER_MAX_PREPARED_STMT_COUNT_REACHED',
])

/**
 * SQLSTATE of a protocol violation. If the error text matches `otherParameters`, the server has stored another
 * statement under the same name. Other violations are caused by a pooler.
 */
const protocolViolation = '08P01'
const otherParameters = /^bind message supplies /

/**
 * Decides whether statements are prepared on the server. If a pooler shares sessions between clients, the server loses
 * or mixes up prepared statements. When this is detected, none are prepared until the process ends.
 */
export class PreparedStatements {
  readonly #names = new StatementCache<string>(preparedStatementLimit)
  readonly #warn: (message: string) => void
  #warning: string | undefined
  #isUsed: boolean

  constructor(isConfigured: boolean, warn: (message: string) => void) {
    this.#isUsed = isConfigured
    this.#warn = warn
  }

  get isUsed(): boolean {
    return this.#isUsed
  }

  /** Reason why no statements are prepared although the configuration allows it. */
  get warning(): string | undefined {
    return this.#warning
  }

  /** Returns the same name in each process, so that processes can share sessions. */
  nameOf(text: string): string {
    return this.#names.get(text, () => `plinth_${hash('sha256', text, 'hex').slice(0, 40)}`)
  }

  foundPooler(): void {
    this.#end('pooler')
  }

  /** Returns true if the server rejected a prepared statement without executing it. */
  hasRejected(error: unknown): boolean {
    const code = errorCodeOf(error)
    if (forgotten.has(code)) this.#end('forgotten')
    else if (code === protocolViolation) this.#end('pooler')
    else return false
    return code !== protocolViolation || otherParameters.test(errorReason(error))
  }

  #end(cause: keyof typeof texts): void {
    if (!this.#isUsed) return
    this.#isUsed = false
    this.#warning = texts[cause]
    this.#warn(texts[cause])
  }
}
