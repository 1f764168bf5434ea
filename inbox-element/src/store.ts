import type { InboxApi } from './api.ts'
import type { Filter, InboxItem, ListPage, UnreadCount } from './types.ts'

/** Maximum number of items that a synchronisation reads again. Older items are then loaded again by scrolling. */
const maxResynced = 100

/** Number of pushes that are remembered, to recognise repeated ones. */
const maxRemembered = 200

type Items = readonly InboxItem[]
type Change = (items: Items) => Items

/** Adds items that are not there yet, and sorts by id, the newest first. */
export function merge(items: Items, more: Items): Items {
  const known = new Set(items.map(({ id }) => id))
  return [...items, ...more.filter(({ id }) => !known.has(id) && known.add(id))].sort((a, b) => b.id - a.id)
}

/** Items of one list, and the number of unread items. Changes by the user appear before the server confirms them. */
export class InboxStore {
  readonly #api: Pick<InboxApi, 'call'>
  readonly #pageSize: () => number
  readonly #changed: () => void
  #items: Items = []
  #cursor: string | null = null
  #filter: Filter = { category: undefined, unreadOnly: false }
  /** Items that the user has deleted and may restore. */
  readonly #hidden = new Set<number>()
  /** Changes since a synchronisation has begun. Its result does not contain them. */
  #changesDuringSync: Change[] | undefined
  /** Ids of the last items whose push has increased the count. */
  #counted: readonly number[] = []
  /** Number of lists that were requested. The response to an older request is ignored. */
  #version = 0
  unread: UnreadCount = { count: 0, capped: false }
  isLoading = false
  hasLoaded = false

  constructor(api: Pick<InboxApi, 'call'>, pageSize: () => number, changed: () => void) {
    this.#api = api
    this.#pageSize = pageSize
    this.#changed = changed
  }

  /** Also contains deleted items that can be restored. */
  get items(): Items {
    return this.#items
  }

  isHidden(id: number): boolean {
    return this.#hidden.has(id)
  }

  get filter(): Filter {
    return this.#filter
  }

  get hasMore(): boolean {
    return this.#cursor !== null
  }

  /** Shows another list. @throws InboxError */
  async show(filter: Filter): Promise<void> {
    this.#filter = filter
    this.#items = []
    this.#cursor = null
    this.hasLoaded = false
    await this.sync()
  }

  /** Forgets everything of the user. */
  clear(): void {
    this.#version++
    this.#changesDuringSync = undefined
    this.#items = []
    this.#cursor = null
    this.#counted = []
    this.#hidden.clear()
    this.unread = { count: 0, capped: false }
    this.hasLoaded = false
    this.#setLoading(false)
  }

  /**
   * Reads the list again from its beginning, as far as it was loaded, and the count. The list is then equal to that of
   * the server, so that nothing is missing or doubled after a time without a connection.
   *
   * @throws InboxError
   */
  async sync(): Promise<void> {
    const version = ++this.#version
    const changes: Change[] = []
    this.#changesDuringSync = changes
    this.#setLoading(true)
    try {
      const wanted = Math.min(this.#items.length, maxResynced)
      const counted = this.refreshCount()
      counted.catch(() => {})
      let { items, next } = await this.#page(null)
      while (next !== null && items.length < wanted && version === this.#version) {
        const page = await this.#page(next)
        items = merge(items, page.items)
        next = page.next
      }
      await counted
      if (version !== this.#version) return
      // The count may be older than a push that arrived meanwhile.
      if (changes.length > 0) await this.refreshCount()
      if (version !== this.#version) return
      this.#items = changes.reduce<Items>((before, change) => change(before), merge([], items))
      this.#cursor = next
      this.hasLoaded = true
    } finally {
      if (version === this.#version) {
        this.#changesDuringSync = undefined
        this.#setLoading(false)
      }
    }
  }

  /** Loads the next page. Does nothing while another page is loaded, and at the end. @throws InboxError */
  async loadMore(): Promise<void> {
    const version = this.#version
    if (this.#cursor === null || this.isLoading) return
    this.#setLoading(true)
    try {
      const { items, next } = await this.#page(this.#cursor)
      if (version !== this.#version) return
      this.#items = merge(this.#items, items)
      this.#cursor = next
    } finally {
      if (version === this.#version) this.#setLoading(false)
    }
  }

  async refreshCount(): Promise<void> {
    const version = this.#version
    const unread = await this.#api.call<UnreadCount>('GET', '/inbox/unread-count')
    if (version !== this.#version) return
    this.unread = unread
    this.#changed()
  }

  /**
   * Adds a pushed item, or replaces an older one with the same id. The same item may be pushed several times. Returns true
   * if it is new.
   */
  receive(item: InboxItem): boolean {
    const isOlder = ({ id, createdAt }: InboxItem) => id === item.id && createdAt < item.createdAt
    const known = this.#items.find(({ id }) => id === item.id)
    const isReplaced = known !== undefined && isOlder(known)
    const isNew = !this.#counted.includes(item.id) && known === undefined
    if (isNew) this.#counted = [item.id, ...this.#counted].slice(0, maxRemembered)
    if (isNew || (isReplaced && !known.unread)) this.#count(1)
    if (this.#filter.category === undefined)
      this.#change((items) =>
        merge(
          items.map((one) => (isOlder(one) ? item : one)),
          [item],
        ),
      )
    else this.#changed()
    return isNew || isReplaced
  }

  /** Shows items as read or unread that another device has changed. `ids` undefined: all items. */
  receiveRead(ids: readonly number[] | undefined, unread: boolean, readAt: string): void {
    const isMeant = ({ id, createdAt }: InboxItem) => ids?.includes(id) ?? createdAt <= readAt
    this.#change((items) => items.map((item) => (isMeant(item) ? { ...item, unread } : item)))
  }

  /** @throws InboxError after the change was undone */
  async mark(id: number, unread: boolean): Promise<void> {
    const item = this.#items.find((one) => one.id === id)
    if (item === undefined || item.unread === unread) return
    const set = (value: boolean) =>
      this.#change((items) => items.map((one) => (one.id === id ? { ...one, unread: value } : one)))
    this.#count(unread ? 1 : -1)
    set(unread)
    try {
      await this.#api.call('PUT', `/inbox/${id}/${unread ? 'unread' : 'read'}`)
    } catch (error) {
      this.#count(unread ? -1 : 1)
      set(!unread)
      throw error
    }
  }

  /** Marks everything as read that has been shown, also items of other lists. @throws InboxError */
  async markAllRead(): Promise<void> {
    const before = this.#items[0]?.id
    await this.#api.call('PUT', '/inbox/read-all', { body: before === undefined ? {} : { before } })
    this.#change((items) => items.map((item) => ({ ...item, unread: false })))
    await this.refreshCount()
  }

  /** Hides an item until `restore` or `remove` is called. */
  hide(id: number): void {
    if (this.#items.some((item) => item.id === id && item.unread)) this.#count(-1)
    this.#hidden.add(id)
    this.#changed()
  }

  restore(id: number): void {
    if (!this.#hidden.delete(id)) return
    if (this.#items.some((item) => item.id === id && item.unread)) this.#count(1)
    this.#changed()
  }

  /** Deletes a hidden item. @throws InboxError after the item was restored */
  async remove(id: number, keepalive = false): Promise<void> {
    try {
      await this.#api.call('DELETE', `/inbox/${id}`, { keepalive })
    } catch (error) {
      // Another device has deleted it.
      if ((error as { code?: unknown }).code !== '404') {
        this.restore(id)
        throw error
      }
    }
    this.#change((items) => items.filter((item) => item.id !== id))
    this.#hidden.delete(id)
  }

  #page(cursor: string | null): Promise<ListPage> {
    const { category, unreadOnly } = this.#filter
    const query = {
      size: this.#pageSize(),
      count: 'none',
      cursor: cursor ?? undefined,
      category,
      unreadOnly: unreadOnly || undefined,
    }
    return this.#api.call('GET', '/inbox', { query })
  }

  #change(change: Change): void {
    this.#changesDuringSync?.push(change)
    this.#items = change(this.#items)
    this.#changed()
  }

  #count(by: number): void {
    const { count, capped } = this.unread
    this.unread = { count: capped ? count : Math.max(0, count + by), capped }
  }

  #setLoading(isLoading: boolean): void {
    this.isLoading = isLoading
    this.#changed()
  }
}
