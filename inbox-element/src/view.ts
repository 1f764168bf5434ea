import { InboxApi, InboxError } from './api.ts'
import { create, createButton, setAttribute, setText } from './dom.ts'
import { ListView } from './list-view.ts'
import { Live } from './live.ts'
import { PreferencesView } from './preferences-view.ts'
import { InboxStore } from './store.ts'
import { styleSheet } from './styles.ts'
import { fill, type OwnTexts, type Texts, textsFor } from './texts.ts'
import type { Filter, GetToken, InboxItem, OpenDetail, UnreadCount } from './types.ts'

/** Time in milliseconds for which a deleted item can be restored. */
const undoMs = 6_000

/** The element, with its properties. */
export interface ViewHost extends HTMLElement {
  readonly apiUrl: string
  readonly getToken: GetToken | undefined
  readonly locale: string
  readonly timeZone: string
  readonly mode: string
  readonly tabs: readonly string[]
  readonly texts: OwnTexts
  readonly pageSize: number
  readonly realtime: string
  open: boolean
}

interface ReaderFormat {
  readonly locale?: string | null
  readonly timeZone?: string | null
}

/** Everything that an element shows and does. */
export class View {
  readonly #host: ViewHost
  readonly #root: ShadowRoot
  readonly #api: InboxApi
  readonly #store: InboxStore
  readonly #list: ListView
  readonly #preferences: PreferencesView
  readonly #live: Live
  readonly #badge = create('span', { part: 'badge', hidden: true, 'aria-hidden': 'true' })
  readonly #bell = createButton('bell', 'bell', () => this.#toggle())
  readonly #title = create('h2', { part: 'title', id: 'title', tabindex: -1 })
  readonly #readAll = createButton('read-all', 'check', () => void this.#save(() => this.#store.markAllRead()))
  readonly #settings = createButton('preferences', 'sliders', () => this.#togglePreferences())
  readonly #close = createButton('close', 'close', () => this.#toggle())
  readonly #note = create('p', { part: 'note', hidden: true })
  readonly #error = create('div', { part: 'error', hidden: true })
  readonly #errorText = create('span')
  readonly #retry = create('button', { type: 'button', onclick: () => this.restart() })
  readonly #spoken = create('div', { role: 'status', class: 'hint' })
  readonly #alerted = create('div', { role: 'alert', class: 'hint' })
  readonly #panel: HTMLElement
  #connection: AbortController | undefined
  /** Language and time zone that the user has saved. Replaced by `reset`. */
  #reader: { saved?: ReaderFormat } = {}
  #failure: keyof Texts | undefined
  #isOffline = false
  #isRenderPending = false
  /** Timers of deleted items that can be restored, by id. */
  readonly #removals = new Map<number, ReturnType<typeof setTimeout>>()
  #countSent = ''

  constructor(host: ViewHost) {
    this.#host = host
    this.#root = host.attachShadow({ mode: 'open' })
    this.#root.adoptedStyleSheets = [styleSheet()]
    const getToken = () => host.getToken
    this.#api = new InboxApi({ apiUrl: () => host.apiUrl, getToken, locale: () => this.#locale })
    this.#store = new InboxStore(
      this.#api,
      () => host.pageSize,
      () => this.render(),
    )
    this.#list = new ListView(this.#store, {
      open: (item) => this.#open(item),
      toggle: (item) => void this.#save(() => this.#store.mark(item.id, !item.unread)),
      remove: (item) => this.#remove(item),
      restore: (item) => this.#restore(item),
      loadMore: () => void this.#load(() => this.#store.loadMore()),
      filter: (category, unreadOnly) => this.#filter({ category, unreadOnly }),
    })
    this.#preferences = new PreferencesView(this.#api, (error) => this.#failed('notSaved', error))
    const offline = (isOffline: boolean) => {
      this.#isOffline = isOffline
      this.render()
    }
    const push = (event: string, data: unknown) => this.#receive(event, data)
    this.#live = new Live(
      this.#api,
      { sync: () => this.#load(() => this.sync(), true), push, offline },
      () => host.realtime !== 'off',
    )
    this.#error.append(this.#errorText, this.#retry)
    this.#bell.append(this.#badge)
    this.#panel = create(
      'section',
      { part: 'panel', 'aria-labelledby': 'title', onkeydown: (event) => this.#pressed(event as KeyboardEvent) },
      create('div', { part: 'header' }, this.#title, this.#readAll, this.#settings, this.#close),
      this.#note,
      this.#list.element,
      this.#preferences.element,
      this.#error,
    )
    this.#root.append(this.#bell, this.#panel, this.#spoken, this.#alerted)
  }

  get unread(): UnreadCount {
    return this.#store.unread
  }

  connect(): void {
    this.#connection = new AbortController()
    const { signal } = this.#connection
    // A click outside closes the panel.
    document.addEventListener('click', (event) => this.#clicked(event), { signal })
    globalThis.addEventListener('pagehide', () => this.#finishRemovals(), { signal })
    this.render()
    this.#start()
  }

  disconnect(): void {
    this.#connection?.abort()
    this.#connection = undefined
    this.#live.stop()
    this.#list.disconnect()
    this.#finishRemovals()
  }

  /** Connects again, for example in another language or after an error. */
  restart(): void {
    this.#live.stop()
    this.#failure = undefined
    this.#start()
    this.render()
  }

  /** Forgets the token and everything that was loaded, and begins again. */
  reset(): void {
    this.#finishRemovals()
    this.#api.forget()
    this.#reader = {}
    this.#preferences.element.hidden = true
    this.#preferences.clear()
    this.#store.clear()
    this.restart()
  }

  /** A framework may set `getToken` after it has added the element. */
  #start(): void {
    if (this.#connection !== undefined && this.#host.getToken !== undefined) this.#live.start()
  }

  /** @throws InboxError */
  async sync(): Promise<void> {
    await this.#store.sync()
    const reader = this.#reader
    if (reader.saved !== undefined) return
    reader.saved = await this.#api.call<ReaderFormat>('GET', '/preferences')
    this.render()
  }

  openChanged(): void {
    const hadFocus = this.#root.activeElement !== null
    this.#render()
    if (this.#host.mode === 'inline') return
    if (this.#host.open) this.#title.focus()
    else if (hadFocus) this.#bell.focus()
  }

  /** Renders once after all changes of the current task. */
  render(): void {
    if (this.#isRenderPending) return
    this.#isRenderPending = true
    queueMicrotask(() => {
      this.#isRenderPending = false
      this.#render()
    })
  }

  get #locale(): string {
    const page = this.#host.closest<HTMLElement>('[lang]')?.lang
    const wanted = this.#host.locale || this.#reader.saved?.locale || page || navigator.language
    try {
      return Intl.getCanonicalLocales(wanted.replaceAll('_', '-'))[0] ?? 'en'
    } catch {
      return 'en'
    }
  }

  get #currentTexts(): Texts {
    return textsFor(this.#locale, this.#host.texts)
  }

  #render(): void {
    const { mode, open, tabs } = this.#host
    const locale = this.#locale
    const texts = this.#currentTexts
    const isInline = mode === 'inline'
    const { count, capped } = this.#store.unread
    const shown = capped ? fill(texts.more, { count }) : String(count)
    setAttribute(this.#panel, 'lang', locale)
    setAttribute(this.#bell, 'lang', locale)
    setText(this.#badge, shown)
    this.#badge.hidden = count === 0
    this.#bell.hidden = isInline
    this.#close.hidden = isInline
    this.#panel.hidden = !isInline && !open
    setAttribute(this.#panel, 'role', isInline ? 'region' : 'dialog')
    setAttribute(this.#bell, 'aria-haspopup', 'dialog')
    setAttribute(this.#bell, 'aria-expanded', String(open))
    setText(this.#title, texts.title)
    const labels = [
      [this.#bell, count === 0 ? texts.title : fill(texts.bellUnread, { count: shown })],
      [this.#readAll, texts.readAll],
      [this.#settings, texts.preferences],
      [this.#close, texts.close],
    ] as const
    for (const [button, label] of labels) {
      setAttribute(button, 'aria-label', label)
      setAttribute(button, 'title', label)
    }
    const showsPreferences = !this.#preferences.element.hidden
    setAttribute(this.#settings, 'aria-pressed', String(showsPreferences))
    this.#list.element.hidden = showsPreferences
    this.#readAll.hidden = showsPreferences
    this.#readAll.disabled = count === 0
    this.#note.hidden = !this.#isOffline
    setText(this.#note, texts.offline)
    const failure = this.#isOffline ? undefined : this.#failure
    this.#error.hidden = failure === undefined
    setText(this.#errorText, failure === undefined ? '' : texts[failure])
    setText(this.#retry, texts.retry)
    setText(this.#alerted, this.#isOffline ? texts.offline : this.#errorText.textContent)
    if (!this.#panel.hidden)
      this.#list.render(
        { texts, tabs, formatTime: timeFormat(locale, this.#host.timeZone || this.#reader.saved?.timeZone) },
        failure !== undefined,
      )
    this.#announceCount()
  }

  #announceCount(): void {
    const { count, capped } = this.#store.unread
    const text = `${count} ${capped}`
    if (!this.#store.hasLoaded || text === this.#countSent) return
    this.#countSent = text
    this.#dispatch('plinth-unread', { count, capped })
  }

  /** Returns false if a listener has called `preventDefault`. */
  #dispatch(name: string, detail: object): boolean {
    return this.#host.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true, cancelable: true }))
  }

  #toggle(): void {
    this.#host.open = !this.#host.open
  }

  #togglePreferences(): void {
    const { element } = this.#preferences
    element.hidden = !element.hidden
    if (!element.hidden) void this.#load(() => this.#preferences.load())
    this.render()
  }

  #pressed(event: KeyboardEvent): void {
    if (event.key !== 'Escape' || this.#host.mode === 'inline') return
    event.stopPropagation()
    this.#host.open = false
  }

  #clicked(event: Event): void {
    if (this.#host.mode !== 'inline' && !event.composedPath().includes(this.#host)) this.#host.open = false
  }

  #open(item: InboxItem): void {
    if (item.unread) void this.#save(() => this.#store.mark(item.id, false))
    const detail: OpenDetail = { item, targetRoute: item.targetRoute }
    if (this.#dispatch('plinth-open', detail) && this.#host.mode !== 'inline') this.#host.open = false
  }

  #filter(filter: Filter): void {
    void this.#load(() => this.#store.show(filter))
  }

  #receive(event: string, data: unknown): void {
    if (event === 'notification.created') {
      const item = data as Omit<InboxItem, 'id'> & { readonly id: number | null }
      // A message that is only sent through the realtime channel is not in the inbox.
      if (item.id === null) return
      const isNew = this.#store.receive({ ...item, id: item.id })
      if (isNew) setText(this.#spoken, fill(this.#currentTexts.arrived, { subject: item.displaySubject }))
      if (this.#store.filter.category !== undefined) void this.#load(() => this.#store.sync())
    } else if (event === 'notification.read') {
      const { id, all, readAt } = data as { readonly id?: number; readonly all?: boolean; readonly readAt: string }
      if (all === true || id !== undefined) this.#store.receiveRead(id === undefined ? undefined : [id], false, readAt)
      void this.#load(() => this.#store.refreshCount())
    }
  }

  /** Deletes an item after a time in which the user can restore it. */
  #remove({ id }: InboxItem): void {
    this.#removals.set(
      id,
      setTimeout(() => this.#finishRemoval(id), undoMs),
    )
    this.#store.hide(id)
    this.#render()
    setText(this.#spoken, this.#currentTexts.removed)
    this.#list.focusItem(id)
  }

  #restore({ id }: InboxItem): void {
    clearTimeout(this.#removals.get(id))
    if (!this.#removals.delete(id)) return
    this.#store.restore(id)
    this.#render()
    this.#list.focusItem(id)
  }

  #finishRemoval(id: number, keepalive = false): void {
    clearTimeout(this.#removals.get(id))
    if (this.#removals.delete(id)) void this.#save(() => this.#store.remove(id, keepalive))
  }

  #finishRemovals(): void {
    for (const id of [...this.#removals.keys()]) this.#finishRemoval(id, true)
  }

  /** Runs a change of the user, and shows its error. */
  async #save(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#failed('notSaved', error)
    }
  }

  /** Runs a read, and shows its error. @param rethrows true for a caller that tries again */
  async #load(work: () => Promise<void>, rethrows = false): Promise<void> {
    try {
      await work()
      if (this.#failure === undefined) return
      this.#failure = undefined
      this.render()
    } catch (error) {
      this.#failed('failed', error)
      if (rethrows) throw error
    }
  }

  #failed(text: keyof Texts, error: unknown): void {
    const code = error instanceof InboxError ? error.code : 'unknown'
    this.#failure = code === '401' || code === '403' ? 'noAccess' : text
    this.#dispatch('plinth-error', { code })
    this.render()
  }
}

/** Returns a function that writes a time in a language and a zone. Without a known zone, it is that of the browser. */
function timeFormat(locale: string, zone: string | null | undefined): (iso: string) => string {
  const build = (timeZone: string) => {
    const format = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone })
    return (iso: string) => format.format(new Date(iso))
  }
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
  try {
    return build(zone || timeZone)
  } catch {
    return build(timeZone)
  }
}
