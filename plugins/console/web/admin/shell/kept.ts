import { Store } from '../../app/store.ts'

/** A saved view of a list. */
export interface SavedView {
  readonly name: string
  /** Id of the page of the list. */
  readonly page: string
  /** Query of the page address, with filters and order. */
  readonly search: string
}

/** Choices of a user for the display of a list. */
export interface ListChoice {
  /** Number of rows per page. */
  readonly size?: PageSize
  /** Columns whose visibility differs from the default of the page: true if shown, false if hidden. */
  readonly columns?: Readonly<Record<string, boolean>>
  /** Widths in pixels of the columns that the user has sized. */
  readonly widths?: Readonly<Record<string, number>>
}

/** Limits for the width of a column in pixels. */
export const columnWidths = { min: 60, max: 800 } as const

interface Choices {
  readonly views: readonly SavedView[]
  /** Ids of pages, in the order in which the user chose them. */
  readonly favourites: readonly string[]
  /** Ids of the last opened pages, the latest first. */
  readonly recent: readonly string[]
  /** Choices for the lists, by id of the page. */
  readonly lists: Readonly<Record<string, ListChoice>>
  /** Time zone in which times are shown: that of the site, or that of this browser. */
  readonly zone: 'site' | 'own'
}

export const pageSizes = [20, 50, 100] as const
export type PageSize = (typeof pageSizes)[number]

type Storage = Pick<globalThis.Storage, 'getItem' | 'setItem'>

/** Maximum number of saved views of all lists together. */
export const maxViews = 50
export const maxViewNameLength = 60
/** Maximum length of a stored address. The addresses of all lists of the product are shorter. */
const maxSearchLength = 2_000
/** Maximum number of lists, and of columns of a list. All products have fewer. */
const maxListed = 500
/** Maximum number of remembered pages. */
const maxRecent = 5
const maxFavourites = 20
const nothing: Choices = { views: [], favourites: [], recent: [], lists: {}, zone: 'site' }

/**
 * Choices of one user in one browser. They are not sent to the server. All stored data is validated when it is read.
 * Without a storage, the choices are lost when the page is closed.
 */
export class UserPreferences extends Store<Choices> {
  #storage: Storage | undefined
  readonly #key: string

  /** @param key unique for each user of each product at this origin */
  constructor(storage: Storage | undefined, key: string) {
    super(nothing)
    this.#storage = storage
    this.#key = key
    this.reread()
  }

  /** Reads the choices again after another tab has written them. */
  readonly reread = (): void => this.set(this.#read())

  /**
   * Saves a view. It replaces a view of the same list with the same name. Returns false if there are too many views, or
   * if the address is too long.
   */
  save(view: SavedView): boolean {
    const choices = this.#read()
    const next = [...choices.views.filter((one) => !isSame(one, view)), view]
    if (next.length > maxViews || !isView(view)) return false
    this.#write({ ...choices, views: next.toSorted((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name))) })
    return true
  }

  remove(view: SavedView): void {
    const choices = this.#read()
    this.#write({ ...choices, views: choices.views.filter((one) => !isSame(one, view)) })
  }

  /** Adds a page to the favourites or removes it. The oldest favourite is removed if there are too many. */
  setFavourite(page: string, isFavourite: boolean): void {
    const choices = this.#read()
    const others = choices.favourites.filter((id) => id !== page)
    const favourites = isFavourite ? [...others, page].slice(-maxFavourites) : others
    this.#write({ ...choices, favourites })
  }

  /** Records that the user opened a page. */
  visit(page: string): void {
    const choices = this.#read()
    if (choices.recent[0] === page) return
    const recent = [page, ...choices.recent.filter((id) => id !== page)].slice(0, maxRecent)
    this.#write({ ...choices, recent })
  }

  /** Changes some of the choices for a list. */
  setList(page: string, change: ListChoice): void {
    const choices = this.#read()
    this.#write({ ...choices, lists: { ...choices.lists, [page]: { ...choices.lists[page], ...change } } })
  }

  setZone(zone: Choices['zone']): void {
    this.#write({ ...this.#read(), zone })
  }

  /** Reads the storage before each change, so that changes of other tabs are not lost. */
  #read(): Choices {
    try {
      return this.#storage === undefined
        ? this.current()
        : choicesOf(JSON.parse(this.#storage.getItem(this.#key) ?? '{}'))
    } catch {
      return nothing
    }
  }

  #write(choices: Choices): void {
    try {
      this.#storage?.setItem(this.#key, JSON.stringify(choices))
    } catch {
      // The browser has no storage, or the storage is full.
      this.#storage = undefined
    }
    this.set(choices)
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
  const { views, favourites, recent, lists, zone } = (written ?? {}) as Partial<Record<keyof Choices, unknown>>
  return {
    views: Array.isArray(views)
      ? views
          .filter(isView)
          .slice(0, maxViews)
          .map(({ name, page, search }) => ({ name, page, search }))
      : [],
    favourites: idsOf(favourites, maxFavourites),
    recent: idsOf(recent, maxRecent),
    lists: Object.fromEntries(
      entriesOf(lists)
        .slice(0, maxListed)
        .map(([page, choice]) => [page, listChoiceOf(choice)]),
    ),
    zone: zone === 'own' ? 'own' : 'site',
  }
}

const idsOf = (value: unknown, most: number): readonly string[] =>
  Array.isArray(value) ? value.filter((id) => isText(id, 100)).slice(0, most) : []

const entriesOf = (value: unknown): readonly [string, unknown][] =>
  Object.entries(typeof value === 'object' && value !== null ? value : {})

/** Returns the valid members of a stored object. */
const membersOf = <T>(value: unknown, isValid: (member: unknown) => member is T): Readonly<Record<string, T>> =>
  Object.fromEntries(
    entriesOf(value)
      .filter((entry): entry is [string, T] => isValid(entry[1]))
      .slice(0, maxListed),
  )

const isFlag = (value: unknown) => typeof value === 'boolean'
const isWidth = (value: unknown): value is number =>
  typeof value === 'number' && value >= columnWidths.min && value <= columnWidths.max

function listChoiceOf(value: unknown): ListChoice {
  const { size, columns, widths } = (value ?? {}) as Partial<Record<keyof ListChoice, unknown>>
  const known = pageSizes.find((one) => one === size)
  return {
    ...(known === undefined ? {} : { size: known }),
    columns: membersOf(columns, isFlag),
    widths: membersOf(widths, isWidth),
  }
}
