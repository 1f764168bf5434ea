import { SmtpSession, type SmtpSettings } from './smtp-session.ts'

const maxQueueLength = 1_000

export class PoolExhausted extends Error {
  override readonly name = 'PoolExhausted'
}

interface Loan {
  readonly session: SmtpSession
  /** True if the session has sent a mail before. The server may have closed it since then. */
  readonly isUsed: boolean
}

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
   * Runs the work with a session. If the work fails, the session is closed.
   *
   * @param fresh true to open a new session
   * @throws SmtpFailure, PoolExhausted, the reason of the signal, or the error of the work
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

  /** Closes idle sessions now, and the other sessions after their current work. */
  retire(): void {
    this.#isClosed = true
    for (const session of this.#idle.splice(0)) session.close()
  }

  /** Closes all sessions immediately. Mails that are being sent fail. */
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
    if (this.#waiting.length >= maxQueueLength) throw new PoolExhausted('Too many mails wait for a connection')
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

  /** Returns the session that was used last, so that the other sessions can time out. */
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
