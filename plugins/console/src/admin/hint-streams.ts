import { Readable } from 'node:stream'
import { type Identity, isOperator, type Principal } from '@plinth/iam'
import { type Clock, type Logger, RepeatedFailureLog } from '@plinth/kernel'
import { businessError } from '../declarations.ts'
import type { PageRegistry } from './page-registry.ts'

interface HintStreamDependencies {
  readonly book: Pick<PageRegistry, 'readers' | 'callable' | 'groups'>
  readonly identity: Pick<Identity, 'standingSessions' | 'principalOf'>
  /** Called repeatedly while at least one stream is open. */
  readonly wanted: () => void
  readonly clock: Clock
  readonly log: Logger
}

/** Maximum number of streams of one instance, and of one user on that instance. */
const maxStreams = 500
const maxPerUser = 20
/**
 * Maximum number of streams of all users without permissions on one instance, and of one such user. These limits are
 * lower, because strangers may be able to create such accounts.
 */
const maxPublic = 100
const maxPerPublicUser = 4
/** Interval of heartbeats in milliseconds. A stream is also closed at most this long after its session ends. */
const heartbeatMs = 15_000
/** Maximum number of characters that a client may leave unread before it is disconnected. */
const maxUnread = 16_384

interface Stream {
  principal: Principal
  readonly body: Readable
}

/**
 * Streams of server-sent events (WHATWG HTML, section 9.2). Each event contains the ids of operations whose results may
 * have changed. Events contain no data, so the permissions of the operations still apply.
 */
export class HintStreams {
  readonly #parts: HintStreamDependencies
  readonly #failures: RepeatedFailureLog
  readonly #streams = new Set<Stream>()
  readonly #stopped = new AbortController()
  #isKept = false

  constructor(parts: HintStreamDependencies) {
    this.#parts = parts
    this.#failures = new RepeatedFailureLog(parts.log, {
      failing: 'sessions behind open pages of the back office cannot be checked',
      over: 'sessions behind open pages of the back office are checked again',
    })
  }

  /**
   * Opens a stream for a user.
   * @throws BusinessError "403" `console.no-page`, "429" `console.too-many-streams`, "503" `console.going`
   */
  async open(principal: Principal): Promise<Readable> {
    if ((await this.#parts.book.groups(principal, 'en')).length === 0) throw businessError('no-page')
    if (this.#stopped.signal.aborted) throw businessError('going')
    if (this.#isFull(principal)) throw businessError('too-many-streams')
    const stream = { principal, body: new Readable({ read() {} }) }
    this.#streams.add(stream)
    stream.body.on('close', () => this.#streams.delete(stream))
    stream.body.push(': open\n\n')
    this.#parts.wanted()
    void this.#keep()
    return stream.body
  }

  #isFull(principal: Principal): boolean {
    const streams = [...this.#streams]
    const ofUser = streams.filter((one) => one.principal.userId === principal.userId).length
    if (isOperator(principal)) return streams.length >= maxStreams || ofUser >= maxPerUser
    const ofPublic = streams.filter((one) => !isOperator(one.principal)).length
    return streams.length >= maxStreams || ofPublic >= maxPublic || ofUser >= maxPerPublicUser
  }

  /** Notifies the streams whose operations read one of these tables. */
  async tell(tables: readonly string[]): Promise<void> {
    if (this.#streams.size === 0) return
    const { book } = this.#parts
    const { readers } = book
    const touched = new Set(tables.flatMap((table) => [...(readers.get(table) ?? [])]))
    for (const stream of this.#streams) {
      const operations = await book.callable(touched, stream.principal)
      if (operations.length > 0) this.#send(stream, `data: ${JSON.stringify({ operations })}\n\n`)
    }
  }

  /** Ends all streams and rejects new ones. */
  stop(): void {
    this.#stopped.abort()
    for (const stream of this.#streams) this.#end(stream)
  }

  async #keep(): Promise<void> {
    if (this.#isKept) return
    this.#isKept = true
    const { signal } = this.#stopped
    while (this.#streams.size > 0 && !signal.aborted) {
      await this.#parts.clock.sleep(heartbeatMs, signal)
      if (this.#streams.size === 0 || signal.aborted) break
      this.#parts.wanted()
      await this.#check().then(
        () => this.#failures.succeeded(),
        // If the sessions cannot be checked, the streams stay open, because they only report that data has changed.
        (error: unknown) => this.#failures.failed(error),
      )
      for (const stream of this.#streams) this.#send(stream, ': alive\n\n')
    }
    this.#isKept = false
  }

  /** Closes the streams of ended sessions and updates the permissions of the other streams. */
  async #check(): Promise<void> {
    const { identity } = this.#parts
    const streams = [...this.#streams]
    const standing = await identity.standingSessions([...new Set(streams.map(({ principal }) => principal.sessionId))])
    const users = new Map<number, Principal | undefined>()
    for (const stream of streams) {
      const { sessionId, userId } = stream.principal
      if (!users.has(userId)) users.set(userId, await identity.principalOf(userId))
      const now = users.get(userId)
      if (now !== undefined && standing.has(sessionId)) stream.principal = { ...now, sessionId }
      else this.#end(stream, 'event: end\ndata:\n\n')
    }
  }

  /** Sends a text to a stream. A client that does not read is disconnected, and connects again later. */
  #send(stream: Stream, text: string): void {
    if (!this.#streams.has(stream)) return
    if (stream.body.readableLength <= maxUnread) stream.body.push(text)
    else {
      this.#streams.delete(stream)
      stream.body.destroy()
    }
  }

  #end(stream: Stream, last?: string): void {
    if (!this.#streams.delete(stream)) return
    if (last !== undefined) stream.body.push(last)
    stream.body.push(null)
  }
}
