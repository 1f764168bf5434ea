import { Store } from '../../app/store.ts'

/** Question of the server that must be answered before it executes a call. */
export interface ProofQuestion {
  /** Names of the proof methods that the user can use, the strongest first. */
  readonly methods: readonly string[]
  /** Message of the server. */
  readonly message: string
}

/** A question that is shown, and the calls that wait for its answer. */
interface OpenQuestion extends ProofQuestion {
  readonly answer: Promise<string | undefined>
  readonly settle: (problem: string | undefined) => void
  waiting: number
}

/** Proofs of all tabs. They share the session, so a proof in one tab replaces the token of all. */
type News = 'begun' | 'proven' | 'failed'

/** Time limit in milliseconds of a proof in another tab, which may be closed meanwhile. */
const maxProofMs = 30_000

/**
 * Asks the user to prove the identity again when an operation requires it. Calls that need a proof at the same time share
 * one question.
 */
export class Proofs extends Store<ProofQuestion | undefined> {
  readonly #channel: Pick<BroadcastChannel, 'postMessage' | 'onmessage'>
  #question: OpenQuestion | undefined
  /** The proof that runs in this tab or in another one. */
  #running: { readonly ended: Promise<void>; readonly end: () => void } | undefined
  #renewals = 0

  /** @param channel connects the tabs of this product in the browser */
  constructor(channel: Pick<BroadcastChannel, 'postMessage' | 'onmessage'>) {
    super(undefined)
    this.#channel = channel
    channel.onmessage = ({ data }: MessageEvent<News>) => this.#hear(data)
  }

  /** Number of proofs since this page was opened. Each proof has replaced the token of the session. */
  get renewals(): number {
    return this.#renewals
  }

  /** Waits for the running proof, and returns whether there was a proof after this number of proofs. */
  async hasRenewedSince(renewals: number): Promise<boolean> {
    await this.#running?.ended
    return this.#renewals > renewals
  }

  /**
   * Shows the question and waits for the proof.
   *
   * @returns undefined after the proof, or the text why there is none
   * @throws the reason of the signal if it was aborted
   */
  async ask(question: ProofQuestion, signal: AbortSignal): Promise<string | undefined> {
    signal.throwIfAborted()
    if (this.#question === undefined) {
      this.#question = opened(question)
      this.set(question)
    }
    const own = this.#question
    own.waiting++
    const leaving = Promise.withResolvers<never>()
    const leave = () => leaving.reject(signal.reason)
    signal.addEventListener('abort', leave)
    try {
      return await Promise.race([own.answer, leaving.promise])
    } finally {
      signal.removeEventListener('abort', leave)
      own.waiting--
      // If no call waits any more, the question has no purpose.
      if (own.waiting === 0 && this.#question === own) this.#settle('')
    }
  }

  /**
   * Runs a proof. If it succeeds, all waiting calls are repeated. If a proof of another tab is running and succeeds, it is
   * enough.
   *
   * @param work sends the proof to the server, which then replaces the token of the session
   */
  async prove(work: () => Promise<unknown>): Promise<void> {
    if (this.#running !== undefined && (await this.hasRenewedSince(this.#renewals))) return
    this.#tell('begun')
    let news: News = 'failed'
    try {
      await work()
      news = 'proven'
    } finally {
      this.#tell(news)
    }
  }

  /** Closes the question without a proof. The waiting calls fail with this text. */
  cancel(problem: string): void {
    this.#settle(problem)
  }

  #tell(news: News): void {
    this.#hear(news)
    this.#channel.postMessage(news)
  }

  #hear(news: News): void {
    if (news === 'begun') {
      this.#running?.end()
      this.#running = this.#begin()
      return
    }
    if (news === 'proven') this.#renewals++
    this.#running?.end()
    this.#running = undefined
    if (news === 'proven') this.#settle(undefined)
  }

  #begin() {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, maxProofMs)
    const end = () => {
      clearTimeout(timer)
      resolve()
    }
    return { ended: promise, end }
  }

  #settle(problem: string | undefined): void {
    const question = this.#question
    if (question === undefined) return
    this.#question = undefined
    question.settle(problem)
    this.set(undefined)
  }
}

function opened(question: ProofQuestion): OpenQuestion {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  return { ...question, answer: promise, settle: resolve, waiting: 0 }
}
