/** A saved view of a list. */
export interface SavedView {
  readonly name: string
  /** Id of the page. */
  readonly page: string
  /** Query of its address. */
  readonly search: string
}

interface Choices {
  readonly views: readonly SavedView[]
  /** Opened or folded navigation groups, by id. */
  readonly groups: Readonly<Record<string, boolean>>
}

type Storage = Pick<globalThis.Storage, 'getItem' | 'setItem'>

/** Maximum of all lists together. */
export const maxViews = 50
export const maxViewNameLength = 60
/** Maximum length of an address, above that of any list of the product. */
const maxSearchLength = 2_000
const nothing: Choices = { views: [], groups: {} }

/**
 * Choices of one user in one browser. They are not sent to the server. All stored data is validated. Without a storage
 * they live as long as the page.
 */
export class Kept {
  #storage: Storage | undefined
  readonly #key: string
  readonly #listeners = new Set<() => void>()
  #choices = nothing

  /** @param key unique for each user of each product at this origin */
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

  /** Reads the data that another tab has written. */
  readonly reread = (): void => this.#set(this.#read())

  /**
   * Returns true if the view was saved. False if there are too many views, or if the address is too long. A view with
   * the same list and name is replaced.
   */
  save(view: SavedView): boolean {
    const { views, groups } = this.#read()
    const next = [...views.filter((one) => !isSame(one, view)), view]
    if (next.length > maxViews || !isView(view)) return false
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

  /** Reads again, so that changes of other tabs are not lost. */
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
      // The browser has no storage, or it is full.
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
  const isAddress = typeof search === 'string' && search.length <= maxSearchLength
  return isText(name, maxViewNameLength) && isText(page, 100) && isAddress
}

function choicesOf(written: unknown): Choices {
  const { views, groups } = (written ?? {}) as Partial<Record<keyof Choices, unknown>>
  const open = Object.entries(typeof groups === 'object' && groups !== null ? groups : {})
  return {
    views: Array.isArray(views)
      ? views
          .filter(isView)
          .slice(0, maxViews)
          .map(({ name, page, search }) => ({ name, page, search }))
      : [],
    groups: Object.fromEntries(open.filter((entry): entry is [string, boolean] => typeof entry[1] === 'boolean')),
  }
}
