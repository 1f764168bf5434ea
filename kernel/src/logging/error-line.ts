import type { Logger } from 'pino'
import { errorReason } from '../errors/coded-error.ts'
import type { Clock } from '../time/clock.ts'

export interface RepeatedFailureTexts {
  /** Log text for the first failure; the line also contains the reason. */
  readonly failing: string
  /** Log text for the end of the failures; the line also contains their number. */
  readonly over: string
}

/**
 * Minimum time since the last failure before a success counts as the end of the failures. Without it, occasional
 * failures could fill the log.
 */
interface QuietTime {
  readonly clock: Pick<Clock, 'monotonic'>
  readonly ms: number
}

/** Logs the first of several repeated failures, and the number of failures when they end. */
export class RepeatedFailureLog {
  readonly #log: Pick<Logger, 'error' | 'info'>
  readonly #texts: RepeatedFailureTexts
  readonly #quiet: QuietTime | undefined
  #failures = 0
  #firstAt = 0
  #lastAt = 0
  #last: unknown

  /** @param quiet omit it if one success proves that the problem is over */
  constructor(log: Pick<Logger, 'error' | 'info'>, texts: RepeatedFailureTexts, quiet?: QuietTime) {
    this.#log = log
    this.#texts = texts
    this.#quiet = quiet
  }

  get isFailing(): boolean {
    return this.#failures > 0
  }

  /** @param details additional fields of the log line */
  failed(error: unknown, details: object = {}): void {
    const now = this.#quiet?.clock.monotonic() ?? 0
    if (this.#failures === 0 || this.#isPast(now)) this.#firstAt = now
    this.#lastAt = now
    this.#last = error
    if (this.#failures++ === 0) this.#log.error({ ...details, reason: errorReason(error) }, this.#texts.failing)
  }

  /**
   * Returns the last error if calls have failed again and again for this time until now, with pauses of at most twice
   * the quiet time. Otherwise, and without a quiet time, returns undefined.
   */
  lastErrorAfter(ms: number): unknown {
    if (this.#failures === 0 || this.#quiet === undefined || this.#isPast(this.#quiet.clock.monotonic()))
      return undefined
    return this.#lastAt - this.#firstAt >= ms ? this.#last : undefined
  }

  #isPast(now: number): boolean {
    return now - this.#lastAt > 2 * (this.#quiet?.ms ?? 0)
  }

  /** Reports a success. Very fast if there was no failure before. */
  succeeded(): void {
    if (this.#failures === 0) return
    if (this.#quiet !== undefined && this.#quiet.clock.monotonic() - this.#lastAt < this.#quiet.ms) return
    this.#log.info({ failures: this.#failures }, this.#texts.over)
    this.#failures = 0
  }
}

/** The fields of an error in a log line. */
export interface ErrorLine {
  readonly type: string
  readonly message: string
  readonly stack?: string
  readonly cause?: ErrorLine
  readonly errors?: readonly ErrorLine[]
  readonly [member: string]: unknown
}

/**
 * Names of error properties that are logged. Other properties may contain whole requests, statements or values of a
 * caller.
 */
const plainMembers = [
  'code',
  'errno',
  'syscall',
  'address',
  'port',
  'path',
  'status',
  'statusCode',
  'sqlState',
  'reason',
]

const maxMemberLength = 256
const maxMessageLength = 8 * 1024
const maxStackLength = 16 * 1024
/** Maximum number of errors in one log line: an error, its causes, and the errors inside an aggregate. */
const maxErrors = 10

/**
 * Converts an error to the fields of a log line: type, message, stack, causes and a few plain properties, all with a
 * maximum length. Other properties, such as requests with headers, are omitted. Never throws, whatever was thrown.
 */
export function toErrorLine(error: unknown): ErrorLine {
  return lineOf(error, { left: maxErrors - 1 })
}

function lineOf(error: unknown, room: { left: number }): ErrorLine {
  if (!isError(error)) return { type: typeof error, message: textOf(error) }
  const stack = member(error, 'stack')
  const type = member(member(error, 'constructor'), 'name')
  const cause = member(error, 'cause')
  const errors = member(error, 'errors')
  const parts: ErrorLine[] = []
  const hasCause = cause !== undefined && room.left-- > 0
  const shown = {
    ...plainMembersOf(error),
    type: cut(typeof type === 'string' && type !== '' ? type : 'Error', maxMemberLength),
    message: cut(textOf(member(error, 'message')), maxMessageLength),
    ...(typeof stack === 'string' && { stack: cut(stack, maxStackLength) }),
    ...(hasCause && { cause: lineOf(cause, room) }),
  }
  if (!Array.isArray(errors)) return shown
  for (let at = 0; at < errors.length && room.left-- > 0; at++) parts.push(lineOf(errors[at], room))
  return { ...shown, errors: parts }
}

function isError(value: unknown): value is Error {
  try {
    return value instanceof Error
  } catch {
    return false
  }
}

function plainMembersOf(error: Error): Record<string, unknown> {
  const shown: Record<string, unknown> = {}
  for (const name of plainMembers) {
    const value = member(error, name)
    if (typeof value === 'string') shown[name] = cut(value, maxMemberLength)
    else if (typeof value === 'number') shown[name] = value
  }
  return shown
}

function member(owner: unknown, name: string): unknown {
  try {
    return Object(owner)[name]
  } catch {
    return undefined
  }
}

/**
 * Returns a short text for a thrown value. For an object without a message only its type is shown, because it may be a
 * request.
 */
function textOf(value: unknown): string {
  if (typeof value === 'string') return cut(value, maxMessageLength)
  if (typeof value === 'object' && value !== null)
    return textOf(member(value, 'message') ?? 'an object that is no error')
  return typeof value === 'function' ? 'a function' : String(value)
}

const cut = (text: string, length: number) => (text.length <= length ? text : `${text.slice(0, length)}...`)
