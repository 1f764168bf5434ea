/** A list as somebody wants to find it again. */
export interface SavedView {
  readonly name: string
  /** Id of the page. */
  readonly page: string
  /** What its address says after the question mark. */
  readonly search: string
}

interface Choices {
  readonly views: readonly SavedView[]
  /** Groups of the navigation that somebody opened or folded, by their ids. */
  readonly groups: Readonly<Record<string, boolean>>
}

type Storage = Pick<globalThis.Storage, 'getItem' | 'setItem'>

/** Of all lists together. */
export const mostViews = 50
export const longestViewName = 60
/** Of an address; more than any list of the product makes. */
const longestSearch = 2_000
const nothing: Choices = { views: [], groups: {} }

/**
 * What one person keeps in one browser: no server knows of it. It is read with suspicion, because anything may stand there,
 * and where the browser keeps nothing it lives as long as the page.
 */
export class Kept {
  #storage: Storage | undefined
  readonly #key: string
  readonly #listeners = new Set<() => void>()
  #choices = nothing

  /** @param key of its own for each person of each product at this origin */
  constructor(storage: Storage | undefined, key: string) {
    this.#storage = storage
    this.#key = key
    this.#choices = this.#read()
  }

  readonly current = (): Choices => this.#choices

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Another tab has written. */
  readonly reread = (): void => this.#set(this.#read())

  /** Whether it was kept: not when there are too many, or the address is too long. One of the same list and name is replaced. */
  save(view: SavedView): boolean {
    const { views, groups } = this.#read()
    const next = [...views.filter((one) => !isSame(one, view)), view]
    if (next.length > mostViews || !isView(view)) return false
    this.#write({ groups, views: next.toSorted((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name))) })
    return true
  }

  remove(view: SavedView): void {
    const { views, groups } = this.#read()
    this.#write({ groups, views: views.filter((one) => !isSame(one, view)) })
  }

  setGroup(id: string, isOpen: boolean): void {
    const { views, groups } = this.#read()
    this.#write({ views, groups: { ...groups, [id]: isOpen } })
  }

  /** What another tab wrote meanwhile is not lost. */
  #read(): Choices {
    try {
      return this.#storage === undefined
        ? this.#choices
        : choicesOf(JSON.parse(this.#storage.getItem(this.#key) ?? '{}'))
    } catch {
      return nothing
    }
  }

  #write(choices: Choices): void {
    try {
      this.#storage?.setItem(this.#key, JSON.stringify(choices))
    } catch {
      // The browser keeps nothing, or no more.
      this.#storage = undefined
    }
    this.#set(choices)
  }

  #set(choices: Choices): void {
    this.#choices = choices
    for (const listener of this.#listeners) listener()
  }
}

const isSame = (a: SavedView, b: SavedView) => a.page === b.page && a.name === b.name

const isText = (value: unknown, longest: number): value is string =>
  typeof value === 'string' && value !== '' && value.length <= longest

function isView(value: unknown): value is SavedView {
  const { name, page, search } = (value ?? {}) as Partial<Record<keyof SavedView, unknown>>
  const isAddress = typeof search === 'string' && search.length <= longestSearch
  return isText(name, longestViewName) && isText(page, 100) && isAddress
}

function choicesOf(written: unknown): Choices {
  const { views, groups } = (written ?? {}) as Partial<Record<keyof Choices, unknown>>
  const open = Object.entries(typeof groups === 'object' && groups !== null ? groups : {})
  return {
    views: Array.isArray(views)
      ? views
          .filter(isView)
          .slice(0, mostViews)
          .map(({ name, page, search }) => ({ name, page, search }))
      : [],
    groups: Object.fromEntries(open.filter((entry): entry is [string, boolean] => typeof entry[1] === 'boolean')),
  }
}
