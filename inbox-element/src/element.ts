import type { OwnTexts } from './texts.ts'
import type { GetToken, TokenSource, UnreadCount } from './types.ts'
import { View } from './view.ts'

const minPageSize = 5
const maxPageSize = 100

const categories = 'system,account,todo,chat,blog,forum,mall,marketing'

/** Properties that a framework may have set before the element was defined. */
const properties = [
  'apiUrl',
  'getToken',
  'tokenUrl',
  'locale',
  'timeZone',
  'mode',
  'theme',
  'tabs',
  'texts',
  'pageSize',
  'realtime',
  'open',
] as const

// On a server there are no elements. The class can then be imported, but not used.
const Base = (globalThis.HTMLElement ?? class {}) as typeof HTMLElement

/**
 * The inbox of a user: a bell with a panel, or a list in the page.
 *
 * Events: `plinth-open` (`OpenDetail`) when the user opens an item, `plinth-unread` (`UnreadCount`) when the number
 * changes, `plinth-error` (`{ code }`) after a failed operation. All of them bubble out of shadow roots.
 */
export class PlinthInbox extends Base {
  static readonly observedAttributes = [
    'api-url',
    'token-url',
    'locale',
    'time-zone',
    'mode',
    'theme',
    'tabs',
    'texts',
    'page-size',
    'realtime',
    'open',
  ]

  #getToken: GetToken | undefined
  #texts: OwnTexts = {}
  #view: View | undefined

  /** Address of the product with its context path, for example `https://api.example`. Default: the site of the page. */
  get apiUrl(): string {
    return this.getAttribute('api-url') ?? ''
  }
  set apiUrl(value: string | null) {
    this.#reflect('api-url', value)
  }

  /** Returns a token. It is called at the beginning, and after the token has expired. For another user, call `reset`. */
  get getToken(): GetToken | undefined {
    const { tokenUrl } = this
    return this.#getToken ?? (tokenUrl === '' ? undefined : () => fetchToken(tokenUrl))
  }
  set getToken(value: GetToken | null | undefined) {
    const isFirst = this.getToken === undefined
    this.#getToken = typeof value === 'function' ? value : undefined
    // A framework may set a new function each time it renders.
    if (isFirst) this.#view?.restart()
  }

  /** Address of your site that responds to `POST` with a token. Used without `getToken`. */
  get tokenUrl(): string {
    return this.getAttribute('token-url') ?? ''
  }
  set tokenUrl(value: string | null) {
    this.#reflect('token-url', value)
  }

  /** BCP 47 tag. Default: the preference of the user, then `lang` of the page. */
  get locale(): string {
    return this.getAttribute('locale') ?? ''
  }
  set locale(value: string | null) {
    this.#reflect('locale', value)
  }

  /** IANA name. Default: the preference of the user, then that of the browser. */
  get timeZone(): string {
    return this.getAttribute('time-zone') ?? ''
  }
  set timeZone(value: string | null) {
    this.#reflect('time-zone', value)
  }

  /** `popover`: a bell that opens a panel; `inline`: the list in the page. */
  get mode(): string {
    return this.getAttribute('mode') === 'inline' ? 'inline' : 'popover'
  }
  set mode(value: string | null) {
    this.#reflect('mode', value)
  }

  /** `light`, `dark`, or empty: `color-scheme` of the page. */
  get theme(): string {
    return this.getAttribute('theme') ?? ''
  }
  set theme(value: string | null) {
    this.#reflect('theme', value)
  }

  /** Categories with a tab, as a list or separated by commas. Default: all categories. */
  get tabs(): readonly string[] {
    const text = this.getAttribute('tabs') ?? categories
    return text.split(',').flatMap((name) => name.trim() || [])
  }
  set tabs(value: readonly string[] | string | null) {
    this.#reflect('tabs', value)
  }

  /** Texts that replace those of the element, as an object or as JSON. */
  get texts(): OwnTexts {
    return this.#texts
  }
  set texts(value: OwnTexts | string | null) {
    this.#texts = parseTexts(value)
    this.#view?.render()
  }

  /** Items per page, 5 to 100. Default: 20. */
  get pageSize(): number {
    const size = Math.trunc(Number(this.getAttribute('page-size') ?? 20))
    return Number.isNaN(size) ? 20 : Math.min(Math.max(size, minPageSize), maxPageSize)
  }
  set pageSize(value: number | string | null) {
    this.#reflect('page-size', value)
  }

  /** `off`: polls instead of opening a WebSocket. */
  get realtime(): string {
    return this.getAttribute('realtime') === 'off' ? 'off' : 'auto'
  }
  set realtime(value: string | null) {
    this.#reflect('realtime', value)
  }

  /** True while the panel is open. */
  get open(): boolean {
    return this.hasAttribute('open')
  }
  set open(value: boolean | string | null) {
    this.toggleAttribute('open', value !== false && value !== 'false' && value !== null && value !== undefined)
  }

  get unreadCount(): UnreadCount {
    return this.#view?.unread ?? { count: 0, capped: false }
  }

  /** Reads the inbox again. @throws InboxError */
  async refresh(): Promise<void> {
    await this.#view?.sync()
  }

  /** Begins again with a new token, for example after another user has signed in. */
  reset(): void {
    this.#view?.reset()
  }

  connectedCallback(): void {
    for (const name of properties) {
      if (!Object.hasOwn(this, name)) continue
      const value: unknown = this[name]
      delete (this as Record<string, unknown>)[name]
      Object.assign(this, { [name]: value })
    }
    this.#view ??= new View(this)
    this.#view.connect()
  }

  disconnectedCallback(): void {
    this.#view?.disconnect()
  }

  attributeChangedCallback(name: string, before: string | null, after: string | null): void {
    if (before === after) return
    if (name === 'texts') this.#texts = parseTexts(after)
    if (name === 'open') this.#view?.openChanged()
    else if (['api-url', 'token-url', 'realtime', 'locale'].includes(name)) this.#view?.restart()
    this.#view?.render()
  }

  #reflect(name: string, value: unknown): void {
    if (value === null || value === undefined) this.removeAttribute(name)
    else this.setAttribute(name, String(value))
  }
}

const isObject = (value: unknown): value is OwnTexts => typeof value === 'object' && value !== null

/** Returns no texts for invalid JSON, so that the inbox stays usable. */
function parseTexts(value: unknown): OwnTexts {
  if (isObject(value)) return value
  try {
    const parsed: unknown = JSON.parse(String(value))
    return isObject(parsed) ? parsed : {}
  } catch {
    return {}
  }
}

async function fetchToken(url: string): Promise<TokenSource> {
  const response = await fetch(url, { method: 'POST', headers: { accept: 'application/json' } })
  if (!response.ok) throw new Error(`The token cannot be read: ${response.status}`)
  return response.json()
}
