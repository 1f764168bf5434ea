import type { FrameOperation } from '../../api/page-types.ts'
import type { Row } from '../../api/row-values.ts'
import { checkedRequest, FrameFailure, type FrameRequest } from './frame-request.ts'

/** Limits for each frame. A frame that exceeds a limit of messages is stopped. */
export const limits = {
  /** Characters of one message. */
  message: 256 * 1024,
  /** Messages in each period of 10 seconds. */
  messages: 300,
  periodMs: 10_000,
  /** Maximum number of calls that the server processes at the same time. */
  running: 6,
  /** Maximum number of calls without a result, including those that wait. */
  open: 32,
  /** Time between two writes without a question. */
  betweenMs: 2_000,
  /** Writes that the operator cancels one after the other. */
  cancelled: 3,
  /** Characters of a short message. */
  toast: 200,
  /** Height of the frame in pixels. */
  height: 20_000,
} as const

/**
 * Why a frame was stopped. `flooded`: it sent too many or too large messages. `insistent`: the operator cancelled too
 * many of its writes. `left`: it opened another document. `silent`: its script did not respond.
 */
export type StopReason = 'flooded' | 'insistent' | 'left' | 'silent'

/** Functions of the back office that the bridge calls. */
export interface FrameShell {
  /** Calls an operation that only reads. */
  read(operation: FrameOperation, request: FrameRequest, signal: AbortSignal): Promise<unknown>
  /** Asks the operator and then calls the operation. Throws `Cancelled` if the operator cancels. */
  write(operation: FrameOperation, request: FrameRequest): Promise<unknown>
  /** Returns true if the operator has just pressed a key or a button in the frame. */
  isInUse(): boolean
  /** Calls the operation, and shows a message with a button that reverses it. */
  writeWithUndo(operation: FrameOperation, request: FrameRequest): Promise<unknown>
  /** Returns an error in the form that a frame receives. */
  errorOf(error: unknown): { readonly code: string; readonly message: string; readonly field: string | null }
  ready(): void
  toast(text: string): void
  resize(height: number): void
  stop(reason: StopReason): void
}

/** The operator has cancelled a write. */
export class Cancelled extends FrameFailure {
  constructor() {
    super('cancelled')
  }
}

interface FramePort {
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void
  start(): void
  postMessage(text: string): void
  close(): void
}

/**
 * Connects a frame to the back office. Nothing that a frame sends is trusted: a message is a JSON text of limited
 * length, and only declared operations with declared parameters are called.
 */
export class FrameBridge {
  readonly #port: FramePort
  readonly #operations: ReadonlyMap<string, FrameOperation>
  readonly #shell: FrameShell
  readonly #now: () => number
  readonly #closed = new AbortController()
  readonly #waiting: (() => void)[] = []
  #running = 0
  #open = 0
  #isAsking = false
  #cancelled = 0
  #lastUnasked = -Infinity
  #period = { since: 0, messages: 0 }

  constructor(
    port: FramePort,
    operations: Readonly<Record<string, FrameOperation>>,
    shell: FrameShell,
    now: () => number = () => performance.now(),
  ) {
    this.#port = port
    this.#operations = new Map(Object.entries(operations))
    this.#shell = shell
    this.#now = now
    this.#period.since = now()
    port.addEventListener('message', ({ data }) => this.#receive(data))
    port.start()
  }

  send(message: object): void {
    if (!this.#closed.signal.aborted) this.#port.postMessage(JSON.stringify(message))
  }

  /** Ends all calls. The frame receives no more results. */
  close(): void {
    this.#closed.abort()
    this.#port.close()
  }

  #stop(reason: StopReason): void {
    this.close()
    this.#shell.stop(reason)
  }

  #receive(data: unknown): void {
    if (this.#closed.signal.aborted) return
    const now = this.#now()
    if (now - this.#period.since >= limits.periodMs) this.#period = { since: now, messages: 0 }
    this.#period.messages += 1
    const isFlood = this.#period.messages > limits.messages
    if (isFlood || typeof data !== 'string' || data.length > limits.message) this.#stop('flooded')
    else this.#handle(messageOf(data))
  }

  #handle(message: Row): void {
    const { type, id, text, height } = message
    if (type === 'ready') this.#shell.ready()
    else if (type === 'toast' && typeof text === 'string') this.#shell.toast(text.slice(0, limits.toast))
    else if (type === 'height' && typeof height === 'number' && height >= 0)
      this.#shell.resize(Math.min(height, limits.height))
    else if (type === 'call' && typeof id === 'number') void this.#answer(id, message)
  }

  async #answer(id: number, message: Row): Promise<void> {
    if (this.#open >= limits.open) return this.#fail(id, new FrameFailure('busy'))
    this.#open += 1
    try {
      this.send({ type: 'result', id, data: (await this.#call(message)) ?? null })
    } catch (error) {
      this.#fail(id, error)
    } finally {
      this.#open -= 1
    }
  }

  #fail(id: number, error: unknown): void {
    if (!this.#closed.signal.aborted) this.send({ type: 'error', id, error: this.#shell.errorOf(error) })
  }

  async #call(message: Row): Promise<unknown> {
    const operation = this.#operations.get(String(message['operation']))
    if (operation === undefined) throw new FrameFailure('not-declared')
    const request = checkedRequest(operation, message)
    return operation.label === undefined ? this.#read(operation, request) : this.#write(operation, request)
  }

  async #read(operation: FrameOperation, request: FrameRequest): Promise<unknown> {
    if (this.#running >= limits.running) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#running += 1
    try {
      this.#closed.signal.throwIfAborted()
      return await this.#shell.read(operation, request, this.#closed.signal)
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#running -= 1
      else next()
    }
  }

  async #write(operation: FrameOperation, request: FrameRequest): Promise<unknown> {
    if (!operation.allowed) throw new FrameFailure('not-permitted', operation.permission)
    if (this.#isAsking) throw new FrameFailure('busy')
    this.#isAsking = true
    try {
      const result = await (this.#needsQuestion(operation)
        ? this.#shell.write(operation, request)
        : this.#shell.writeWithUndo(operation, request))
      this.#cancelled = 0
      return result
    } catch (error) {
      this.#cancelled = error instanceof Cancelled ? this.#cancelled + 1 : 0
      if (this.#cancelled >= limits.cancelled) this.#stop('insistent')
      throw error
    } finally {
      this.#isAsking = false
    }
  }

  /**
   * A write with `undo` runs without a question, but only while the operator works in the frame. Otherwise a script could
   * write on its own. One press allows more than one write for some seconds, so the writes have a minimum distance. The
   * messages of all of them are then visible together.
   */
  #needsQuestion({ undo }: FrameOperation): boolean {
    const now = this.#now()
    if (undo === undefined || now - this.#lastUnasked < limits.betweenMs || !this.#shell.isInUse()) return true
    this.#lastUnasked = now
    return false
  }
}

/** Returns the members of a message; none if it is not an object in JSON. */
function messageOf(text: string): Row {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Row) : {}
  } catch {
    return {}
  }
}
