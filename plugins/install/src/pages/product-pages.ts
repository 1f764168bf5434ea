import type { HttpServer } from '@plinth/http'
import type { InstallConfig } from '../config.ts'
import { type EntryName, entryNames, installPath } from '../contract.ts'
import type { InstallServices } from '../requires.ts'

/** Where a browser would be sent to another host, or to nowhere in particular. */
const treacherous = /^\/(?:[\\/]|%2f|%5c)|[\p{Cc}\\]/iu

const anyOrigin = 'http://plinth.invalid'

/**
 * A configured path as a target of a redirect: it leads to this product or, when it would lead anywhere else, to the root
 * path (decision D37).
 */
export function ownPath(path: string): string {
  if (!path.startsWith('/') || treacherous.test(path)) return '/'
  const url = URL.parse(path, anyOrigin)
  // Dots are resolved by every browser: what is left must not begin with two slashes either.
  return url?.origin === anyOrigin && !treacherous.test(url.pathname) ? path : '/'
}

/** The same path as a header field can hold it: what is not ASCII is percent-encoded, what is encoded already stays. */
export function asHeader(path: string): string {
  return path.toWellFormed().replace(/[^\x21-\x7e]+/g, encodeURIComponent)
}

/** Throws for a path that `ownPath` replaces by the root path. */
export function assertOwnPath(path: string): void {
  if (ownPath(path) !== path)
    throw new Error('it must be a path of this product, such as /admin/; it would lead elsewhere')
}

const targetKey = 'platform.view.root.target'

/** Which pages there are behind the product: what it serves itself, and what a proxy is said to serve beside it. */
export class ProductPages {
  readonly #http: Pick<HttpServer, 'inject' | 'routes'>
  readonly #config: InstallConfig
  readonly #configAdmin: Pick<InstallServices['configAdmin'], 'explain'>
  /** Whether there is such a page, as far as the product has said. */
  readonly #own = new Map<EntryName, boolean>()

  constructor({ http, config, configAdmin }: Pick<InstallServices, 'http' | 'config' | 'configAdmin'>) {
    this.#http = http
    this.#config = config
    this.#configAdmin = configAdmin
  }

  /**
   * In a fixed order. Ends registration: routes do not change any more, so the product is asked once for each page. What
   * it cannot say now, because it fails or still leads to its installation, it is asked again.
   */
  async list(): Promise<EntryName[]> {
    await Promise.all(entryNames.filter((name) => !this.#own.has(name)).map((name) => this.#ask(name)))
    const beside: readonly string[] = this.#config.get('platform.view.entries')
    return entryNames.filter((name) => this.#own.get(name) === true || beside.includes(name))
  }

  /**
   * Path of the entry (decision F.13): the configured path, or the back office where none is configured and the back office
   * is the only page for people. A configured path that leads elsewhere is `/`.
   */
  get entry(): string {
    const isConfigured = this.#configAdmin.explain(targetKey)?.effective.source !== 'default'
    if (!isConfigured && this.#hasOnlyAdmin) return '/admin/'
    return ownPath(this.#config.get(targetKey))
  }

  get #hasOnlyAdmin(): boolean {
    const beside: readonly string[] = this.#config.get('platform.view.entries')
    const paths = new Set(this.#http.routes.map(({ path }) => path))
    const found = entryNames.filter(
      (name) => paths.has(`/${name}/*`) || paths.has(`/${name}/`) || beside.includes(name),
    )
    return found.includes('admin') && found.every((name) => name === 'admin' || name === 'docs')
  }

  async #ask(name: EntryName): Promise<void> {
    const { statusCode, headers } = await this.#http.inject({
      method: 'GET',
      url: `/${name}/`,
      headers: { accept: 'text/html' },
    })
    if (statusCode >= 500 || String(headers.location ?? '').endsWith(installPath)) return
    this.#own.set(name, statusCode < 400)
  }
}
