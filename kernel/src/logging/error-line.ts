import type { Logger } from 'pino'
import { reasonOf } from '../errors/coded-error.ts'
import type { Clock } from '../time/clock.ts'

export interface FailureTexts {
  /** Text of the line for the first failure, with the reason. */
  readonly failing: string
  /** Text of the line for the end, with the number of failures. */
  readonly over: string
}

/** Time without a failure after which a success ends the state, so that occasional failures do not fill the log. */
interface QuietTime {
  readonly clock: Pick<Clock, 'monotonic'>
  readonly ms: number
}

/** Logs a repeated failure only when it begins, and with the number of failures when it ends. */
export class FailureLog {
  readonly #log: Pick<Logger, 'error' | 'info'>
  readonly #texts: FailureTexts
  readonly #quiet: QuietTime | undefined
  #failures = 0
  #lastAt = 0

  /** @param quiet omit it if the first success proves that the failure has ended */
  constructor(log: Pick<Logger, 'error' | 'info'>, texts: FailureTexts, quiet?: QuietTime) {
    this.#log = log
    this.#texts = texts
    this.#quiet = quiet
  }

  get isFailing(): boolean {
    return this.#failures > 0
  }

  /** @param details more fields of the line */
  failed(error: unknown, details: object = {}): void {
    this.#lastAt = this.#quiet?.clock.monotonic() ?? 0
    if (this.#failures++ === 0) this.#log.error({ ...details, reason: reasonOf(error) }, this.#texts.failing)
  }

  /** Costs almost nothing while nothing fails. */
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
 * Properties that locate the cause of an error. Other properties may contain whole requests, statements or values of a
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
/** Maximum errors in one line: an error, its causes and the errors in an aggregate. */
const maxErrors = 10

/**
 * Serializes `err` in every log line: type, message, stack, causes and a few plain properties, each with a maximum
 * length. Other properties that libraries add (requests with headers, statements with values) are omitted. Never
 * throws, for any thrown value.
 */
export function errorLine(error: unknown): ErrorLine {
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

/** For an object only its type, because it may be a request. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return cut(value, maxMessageLength)
  if (typeof value === 'object' && value !== null)
    return textOf(member(value, 'message') ?? 'an object that is no error')
  return typeof value === 'function' ? 'a function' : String(value)
}

const cut = (text: string, length: number) => (text.length <= length ? text : `${text.slice(0, length)}...`)
