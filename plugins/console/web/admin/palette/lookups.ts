import type { Label } from '../api/labels.ts'
import { type Callable, labels, type Value } from '../api/operations.ts'
import type { Column, Json, Operation } from '../api/page-types.ts'
import { type Row, type Rows, rowsOf } from '../api/row-values.ts'

interface Asker {
  call<T>(
    operation: Callable,
    input: { readonly query: Readonly<Record<string, Value>>; readonly signal: AbortSignal },
  ): Promise<T>
}

/** A parameter of a list that accepts typed text. */
export interface LookupParameter {
  readonly parameter: string
  /** True if the parameter searches for a part of a text. Otherwise the whole value must be typed. */
  readonly isSearch: boolean
  /** Schema of the parameter. */
  readonly schema: Json
  /** Kind of the objects that the parameter refers to. The user types their name instead of their id. */
  readonly labels?: string
}

/** A list that the palette can search, as the server describes it. */
export interface Lookup extends Operation {
  /** Id of the page that shows the list. */
  readonly id: string
  readonly title: string
  readonly key: string
  /** Member that contains the name of a row. */
  readonly name: string
  /** Further members of a row that are displayed. */
  readonly facts: readonly Column[]
  readonly detail?: string
  readonly isPaged: boolean
  /** True if the list accepts the parameter `count`. */
  readonly canCount: boolean
  readonly ways: readonly LookupParameter[]
}

/** Rows that were found through one parameter. */
export interface FoundRows {
  readonly rows: readonly Row[]
  /** True if the list has more matching rows. */
  readonly hasMore: boolean
}

/** Maximum number of displayed rows per list. */
const maxRows = 5
/** Time limit in milliseconds for the search in one list. */
const deadlineMs = 5_000
/** Maximum length of a typed name. */
const maxNameLength = 100

/** Minimum number of characters for a parameter that needs the whole value, such as an order number. */
const minWholeLength = 3

/** True if the parameter accepts the text. If not, the list is not called. */
export function acceptsText({ schema, labels, isSearch }: Omit<LookupParameter, 'parameter'>, text: string): boolean {
  if (labels !== undefined) return text.length <= maxNameLength
  const { type, minimum, maximum, minLength, maxLength, pattern } = schema as {
    readonly [name in 'type' | 'pattern']?: string
  } & { readonly [name in 'minimum' | 'maximum' | 'minLength' | 'maxLength']?: number }
  if (type === 'integer') {
    const number = Number(text)
    return /^[0-9]+$/.test(text) && Number.isSafeInteger(number) && isWithin(number, minimum, maximum)
  }
  const length = [...text].length
  return (
    length >= (isSearch ? 0 : minWholeLength) &&
    isWithin(length, minLength, maxLength) &&
    (pattern === undefined || new RegExp(pattern, 'u').test(text))
  )
}

const isWithin = (number: number, least = 0, most = Number.MAX_SAFE_INTEGER) => number >= least && number <= most

/**
 * Searches one list for a text.
 *
 * @throws CallFailure also when the list takes too long
 */
export async function find(
  api: Asker,
  lookup: Lookup,
  way: LookupParameter,
  text: string,
  signal: AbortSignal,
): Promise<FoundRows> {
  const input = { signal: AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]) }
  if (way.labels !== undefined) {
    const query = { kind: way.labels, search: text }
    const { items } = await api.call<{ readonly items: readonly Label[] }>(labels, { ...input, query })
    return firstOf(rowsOf(items.map((label) => ({ ...label }))))
  }
  const page = { ...(lookup.isPaged && { size: maxRows }), ...(lookup.canCount && { count: 'none' }) }
  const query = { [way.parameter]: text, ...page }
  return firstOf(rowsOf(await api.call<Rows | readonly Row[]>(lookup, { ...input, query })))
}

const firstOf = ({ items, next }: Rows): FoundRows => ({
  rows: items.slice(0, maxRows),
  hasMore: items.length > maxRows || typeof next === 'string',
})

/** Limits the number of concurrent calls. Further calls wait for a slot, or until they are aborted. */
export class ConcurrencyLimit {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(most: number) {
    this.#free = most
  }

  /**
   * Runs `work` when a slot is available.
   * @throws the reason of the signal if it is aborted first
   */
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
