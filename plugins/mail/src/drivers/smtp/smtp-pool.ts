import { SmtpSession, type SmtpSettings } from './smtp-session.ts'

/** Sends that may wait for a connection. */
const longestQueue = 1_000

/** Too many sends wait. */
export class PoolExhausted extends Error {
  override readonly name = 'PoolExhausted'
}

/** A session on loan. */
interface Loan {
  readonly session: SmtpSession
  /** True when it has been used before: then the server may have closed it meanwhile. */
  readonly isUsed: boolean
}

/** Sessions that are kept for the next mail. */
export class SmtpPool {
  readonly #settings: SmtpSettings
  readonly #idle: SmtpSession[] = []
  readonly #waiting: (() => void)[] = []
  readonly #all = new Set<SmtpSession>()
  #lent = 0
  #isClosed = false

  constructor(settings: SmtpSettings) {
    this.#settings = settings
  }

  /**
   * Lends a session to some work. A session of which a step failed is closed already and is not kept.
   *
   * @param fresh true: one that was opened for this work
   * @throws SmtpFailure, PoolExhausted, the reason of the signal, or what the work throws
   */
  async use<T>(signal: AbortSignal, fresh: boolean, work: (loan: Loan) => Promise<T>): Promise<T> {
    await this.#turn(signal)
    try {
      const kept = fresh ? undefined : this.#takeIdle()
      const session = kept ?? (await SmtpSession.open(this.#settings, signal))
      this.#all.add(session)
      try {
        return await work({ session, isUsed: kept !== undefined })
      } finally {
        this.#giveBack(session)
      }
    } finally {
      this.#lent -= 1
      this.#waiting.shift()?.()
    }
  }

  /** Keeps no session any more; what is under way goes on. */
  retire(): void {
    this.#isClosed = true
    for (const session of this.#idle.splice(0)) session.close()
  }

  /** Destroys all sockets; what is under way fails. */
  close(): void {
    this.retire()
    for (const session of this.#all) session.close()
    this.#all.clear()
  }

  async #turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#lent >= this.#settings.maxConnections) await this.#wait(signal)
    this.#lent += 1
  }

  #wait(signal: AbortSignal): Promise<void> {
    if (this.#waiting.length >= longestQueue) throw new PoolExhausted('Too many mails wait for a connection')
    return new Promise((resolve, reject) => {
      const go = () => {
        signal.removeEventListener('abort', giveUp)
        resolve()
      }
      const giveUp = () => {
        this.#waiting.splice(this.#waiting.indexOf(go), 1)
        reject(signal.reason)
      }
      signal.addEventListener('abort', giveUp, { once: true })
      this.#waiting.push(go)
    })
  }

  /** The one that was used last, so that those beyond the need grow old and end. */
  #takeIdle(): SmtpSession | undefined {
    for (;;) {
      const session = this.#idle.pop()
      if (session === undefined || session.isOpen) return session
      this.#all.delete(session)
    }
  }

  #giveBack(session: SmtpSession): void {
    if (session.isOpen && session.sent < this.#settings.maxMessages && !this.#isClosed) {
      this.#idle.push(session)
      return
    }
    session.close()
    this.#all.delete(session)
  }
}
