import type { Label } from '../api/labels.ts'
import { type Callable, labels, type Value } from '../api/operations.ts'
import { type Column, type Json, type Operation, type Row, type Rows, rowsOf } from '../api/page-types.ts'

interface Asker {
  call<T>(
    operation: Callable,
    input: { readonly query: Readonly<Record<string, Value>>; readonly signal: AbortSignal },
  ): Promise<T>
}

/** A parameter that takes what somebody types. */
export interface Way {
  readonly parameter: string
  /** True for words; else the whole value is typed. */
  readonly isSearch: boolean
  /** What it takes. */
  readonly schema: Json
  /** Kind of things whose name is typed in place of their id. */
  readonly labels?: string
}

/** A list in which rows are found, as the server describes it. */
export interface Lookup extends Operation {
  /** Of its page. */
  readonly id: string
  readonly title: string
  readonly key: string
  /** Member that names a row. */
  readonly name: string
  /** What else is told of a row. */
  readonly facts: readonly Column[]
  readonly detail?: string
  readonly isPaged: boolean
  /** The list accepts `count`. */
  readonly canCount: boolean
  readonly ways: readonly Way[]
}

/** Rows that were found in one way. */
export interface Found {
  readonly rows: readonly Row[]
  /** Whether there are more. */
  readonly hasMore: boolean
}

/** So many rows of a list are shown. */
const mostRows = 5
/** After so long a list counts as not answering. */
const deadlineMs = 5_000
/** Of a name. */
const longestName = 100

/** A list that is found by whole texts, such as the number of an order, is not asked for less. */
const shortestWhole = 3

/** Whether a parameter takes a text: what it does not take is not asked for. */
export function takes({ schema, labels, isSearch }: Omit<Way, 'parameter'>, text: string): boolean {
  if (labels !== undefined) return text.length <= longestName
  const { type, minimum, maximum, minLength, maxLength, pattern } = schema as {
    readonly [name in 'type' | 'pattern']?: string
  } & { readonly [name in 'minimum' | 'maximum' | 'minLength' | 'maxLength']?: number }
  if (type === 'integer') {
    const number = Number(text)
    return /^[0-9]+$/.test(text) && Number.isSafeInteger(number) && isWithin(number, minimum, maximum)
  }
  const length = [...text].length
  return (
    length >= (isSearch ? 0 : shortestWhole) &&
    isWithin(length, minLength, maxLength) &&
    (pattern === undefined || new RegExp(pattern, 'u').test(text))
  )
}

const isWithin = (number: number, least = 0, most = Number.MAX_SAFE_INTEGER) => number >= least && number <= most

/**
 * Asks one list for what fits a text.
 *
 * @throws CallFailure also when the list takes too long
 */
export async function find(api: Asker, lookup: Lookup, way: Way, text: string, signal: AbortSignal): Promise<Found> {
  const input = { signal: AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]) }
  if (way.labels !== undefined) {
    const query = { kind: way.labels, search: text }
    const { items } = await api.call<{ readonly items: readonly Label[] }>(labels, { ...input, query })
    return firstOf(rowsOf(items.map((label) => ({ ...label }))))
  }
  const page = { ...(lookup.isPaged && { size: mostRows }), ...(lookup.canCount && { count: 'none' }) }
  const query = { [way.parameter]: text, ...page }
  return firstOf(rowsOf(await api.call<Rows | readonly Row[]>(lookup, { ...input, query })))
}

const firstOf = ({ items, next }: Rows): Found => ({
  rows: items.slice(0, mostRows),
  hasMore: items.length > mostRows || typeof next === 'string',
})

/** Lets so many be at work at once. The others wait for their turn, or until they are called off. */
export class Turns {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(most: number) {
    this.#free = most
  }

  /** @throws the reason of the signal, when it comes first */
  async take<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted()
    if (this.#free > 0) this.#free -= 1
    else await this.#turn(signal)
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free += 1
      else next()
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = () => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(go), 1)
        reject(signal.reason)
      }
      signal.addEventListener('abort', leave, { once: true })
      this.#waiting.push(go)
    })
  }
}
