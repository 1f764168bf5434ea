import { create, createButton, createIcon, setAttribute, setText } from './dom.ts'
import type { InboxStore } from './store.ts'
import { fill, type Texts } from './texts.ts'
import type { InboxItem } from './types.ts'

/** Maximum number of characters of a content that is shown in the list. */
const maxShown = 400

export interface ListContext {
  readonly texts: Texts
  /** Categories with their own tab. */
  readonly tabs: readonly string[]
  formatTime(iso: string): string
}

export interface ListActions {
  open(item: InboxItem): void
  toggle(item: InboxItem): void
  remove(item: InboxItem): void
  restore(item: InboxItem): void
  loadMore(): void
  filter(category: string | undefined, unreadOnly: boolean): void
}

/** The list of notifications, with tabs for categories and a filter. */
export class ListView {
  readonly #store: InboxStore
  readonly #actions: ListActions
  readonly #rows = new Map<number, ItemRow>()
  readonly #tabs = create('div', { role: 'tablist', part: 'tabs', onkeydown: (event) => this.#moveTab(event) })
  readonly #unreadBox = create('input', { type: 'checkbox', onchange: () => this.#filter(this.#store.filter.category) })
  readonly #unreadText = create('span')
  readonly #items = create('ul', { role: 'list', part: 'list' })
  readonly #empty = create('p', { part: 'empty', hidden: true })
  readonly #more = create('button', {
    type: 'button',
    part: 'more',
    hidden: true,
    onclick: () => this.#actions.loadMore(),
  })
  readonly #scroll = create(
    'div',
    { role: 'tabpanel', id: 'list', part: 'scroll' },
    this.#items,
    this.#empty,
    this.#more,
  )
  readonly element = create(
    'div',
    { class: 'view', part: 'view' },
    create(
      'div',
      { part: 'toolbar' },
      this.#tabs,
      create('label', { part: 'filter' }, this.#unreadBox, this.#unreadText),
    ),
    this.#scroll,
  )
  readonly #observer: IntersectionObserver

  constructor(store: InboxStore, actions: ListActions) {
    this.#store = store
    this.#actions = actions
    // The next page is loaded before the user reaches the end. The button is for the keyboard, and after an error.
    this.#observer = new IntersectionObserver(
      (entries) => entries.some(({ isIntersecting }) => isIntersecting) && actions.loadMore(),
      { root: this.#scroll, rootMargin: '200px' },
    )
  }

  render({ texts, tabs, formatTime }: ListContext, hasFailed: boolean): void {
    const { items, hasMore, isLoading, hasLoaded, filter } = this.#store
    this.#renderTabs(texts, tabs)
    setText(this.#unreadText, texts.unreadOnly)
    this.#unreadBox.checked = filter.unreadOnly
    setAttribute(this.#scroll, 'aria-busy', isLoading ? 'true' : undefined)
    this.#renderItems(items, texts, formatTime)
    this.#empty.hidden = items.length > 0 || hasFailed
    setText(this.#empty, hasLoaded ? texts.empty : texts.loading)
    setText(this.#more, isLoading ? texts.loading : texts.loadMore)
    this.#more.hidden = !hasMore
    // Observed again after each page, because a page may be too short to move the button out of sight.
    this.#observer.disconnect()
    if (hasMore && !isLoading && !hasFailed) this.#observer.observe(this.#more)
  }

  /** Focuses an item, or the button that restores it. */
  focusItem(id: number | undefined): void {
    const row = this.#rows.get(id ?? 0)
    if (row !== undefined) row.focus()
    else this.#tabs.querySelector<HTMLElement>('[aria-selected=true]')?.focus()
  }

  disconnect(): void {
    this.#observer.disconnect()
  }

  #renderItems(items: readonly InboxItem[], texts: Texts, formatTime: ListContext['formatTime']): void {
    const shown = new Set(items.map(({ id }) => id))
    let lostFocus: number | undefined
    for (const [id, row] of this.#rows) {
      if (shown.has(id)) continue
      if (row.element.matches(':focus-within')) lostFocus = id
      row.element.remove()
      this.#rows.delete(id)
    }
    for (const [index, item] of items.entries()) {
      let row = this.#rows.get(item.id)
      if (row === undefined) {
        row = new ItemRow(this.#actions)
        this.#rows.set(item.id, row)
      }
      row.render(item, this.#store.isHidden(item.id), texts, formatTime)
      // Rows that stay are not moved, so that they keep the focus.
      if (this.#items.children[index] !== row.element)
        this.#items.insertBefore(row.element, this.#items.children[index] ?? null)
    }
    if (lostFocus !== undefined) this.focusItem((items.find(({ id }) => id < lostFocus) ?? items.at(-1))?.id)
  }

  #renderTabs(texts: Texts, tabs: readonly string[]): void {
    const names = ['all', ...tabs]
    setAttribute(this.#tabs, 'aria-label', texts.filter)
    while (this.#tabs.children.length > names.length) this.#tabs.lastElementChild?.remove()
    const selected = this.#store.filter.category ?? 'all'
    for (const [index, name] of names.entries()) {
      const existing = this.#tabs.children[index]
      const tab =
        existing ??
        create('button', {
          type: 'button',
          role: 'tab',
          part: 'tab',
          'aria-controls': 'list',
          onclick: ({ currentTarget }) => this.#select((currentTarget as HTMLElement).dataset['name']),
        })
      if (existing === undefined) this.#tabs.append(tab)
      const isSelected = name === selected
      setAttribute(tab, 'id', `tab-${name}`)
      setAttribute(tab, 'data-name', name)
      setAttribute(tab, 'aria-selected', String(isSelected))
      setAttribute(tab, 'tabindex', isSelected ? 0 : -1)
      setText(tab, texts[name as keyof Texts] ?? name)
      if (isSelected) setAttribute(this.#scroll, 'aria-labelledby', `tab-${name}`)
    }
  }

  #moveTab(event: Event): void {
    const { key } = event as KeyboardEvent
    const isLeftToRight = getComputedStyle(this.#tabs).direction === 'ltr'
    const tabs = [...this.#tabs.children] as HTMLElement[]
    const at = tabs.findIndex((tab) => tab.getAttribute('aria-selected') === 'true')
    const steps: Readonly<Record<string, number>> = {
      ArrowRight: at + (isLeftToRight ? 1 : -1),
      ArrowLeft: at + (isLeftToRight ? -1 : 1),
      Home: 0,
      End: -1,
    }
    const step = steps[key]
    if (step === undefined) return
    event.preventDefault()
    const tab = tabs.at(step % tabs.length)
    this.#select(tab?.dataset['name'])
    tab?.focus()
  }

  #select(name: string | undefined): void {
    this.#filter(name === 'all' ? undefined : name)
  }

  #filter(category: string | undefined): void {
    this.#scroll.scrollTop = 0
    this.#actions.filter(category, this.#unreadBox.checked)
  }
}

/** One notification. Its elements stay the same while it is shown. */
class ItemRow {
  readonly #subject = create('span', { part: 'subject' })
  readonly #unread = create('span', { class: 'hint' })
  readonly #content = create('span', { part: 'content' })
  readonly #time = create('time', { part: 'time' })
  readonly #removedText = create('span')
  readonly #undo: HTMLButtonElement
  readonly #removed: HTMLElement
  readonly #buttons: HTMLElement
  readonly #attachments = create('ul', { part: 'attachments', hidden: true })
  readonly #toggle: HTMLButtonElement
  readonly #remove: HTMLButtonElement
  readonly #open: HTMLButtonElement
  readonly element: HTMLLIElement
  #item: InboxItem | undefined
  #shownAttachments: unknown

  constructor(actions: ListActions) {
    const withItem = (action: (item: InboxItem) => void) => () => this.#item && action(this.#item)
    this.#open = create(
      'button',
      { type: 'button', part: 'open', onclick: withItem(actions.open) },
      this.#unread,
      this.#subject,
      this.#content,
      this.#time,
    )
    this.#toggle = createButton('toggle', 'check', withItem(actions.toggle))
    this.#remove = createButton('remove', 'trash', withItem(actions.remove))
    this.#buttons = create('div', { part: 'actions' }, this.#toggle, this.#remove)
    this.#undo = create('button', { type: 'button', onclick: withItem(actions.restore) })
    this.#removed = create('div', { part: 'undo' }, this.#removedText, this.#undo)
    this.element = create('li', { part: 'item' }, this.#open, this.#buttons, this.#attachments, this.#removed)
  }

  focus(): void {
    if (this.#removed.hidden) this.#open.focus()
    else this.#undo.focus()
  }

  render(item: InboxItem, isRemoved: boolean, texts: Texts, formatTime: ListContext['formatTime']): void {
    const { unread, displaySubject, displayContent, createdAt, attachments } = item
    const subject = displaySubject || displayContent.slice(0, 60)
    if (this.#item?.unread !== unread) {
      this.#toggle.replaceChildren(createIcon(unread ? 'check' : 'dot'))
      setAttribute(this.element, 'part', unread ? 'item item-unread' : 'item')
      this.element.classList.toggle('unread', unread)
    }
    this.#item = item
    setText(this.#unread, unread ? `${texts.unread}: ` : '')
    setText(this.#subject, subject)
    setText(this.#content, displaySubject === '' ? '' : displayContent.slice(0, maxShown))
    setText(this.#time, formatTime(createdAt))
    setAttribute(this.#time, 'datetime', createdAt)
    const name = fill(unread ? texts.markRead : texts.markUnread, { subject })
    for (const [button, label] of [
      [this.#toggle, name],
      [this.#remove, fill(texts.remove, { subject })],
    ] as const) {
      setAttribute(button, 'aria-label', label)
      setAttribute(button, 'title', label)
    }
    setAttribute(this.#attachments, 'aria-label', texts.attachments)
    for (const part of [this.#open, this.#buttons]) part.hidden = isRemoved
    this.#removed.hidden = !isRemoved
    this.#attachments.hidden = isRemoved || attachments.length === 0
    setText(this.#removedText, texts.removed)
    setText(this.#undo, texts.undo)
    const shown = JSON.stringify([attachments, texts.noFile])
    if (shown === this.#shownAttachments) return
    this.#shownAttachments = shown
    this.#attachments.replaceChildren(
      ...attachments.map(({ name, url }) => create('li', {}, linkTo(name, url, texts.noFile))),
    )
  }
}

/** Returns a link, or a text if the address is not one of the web. */
function linkTo(name: string, url: string | null, noFile: string): Node {
  const isWeb = url !== null && /^https?:$/.test(URL.parse(url, document.baseURI)?.protocol ?? '')
  if (!isWeb) return create('span', {}, fill(noFile, { name }))
  return create('a', { part: 'attachment', href: url, target: '_blank', rel: 'noopener noreferrer' }, name)
}
