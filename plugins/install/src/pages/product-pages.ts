import type { HttpServer } from '@plinth/http'
import type { InstallConfig } from '../config.ts'
import { type EntryName, entryNames, installPath } from '../contract.ts'
import type { InstallServices } from '../requires.ts'

/** Paths that browsers could resolve to another host. */
const ambiguousPath = /^\/(?:[\\/]|%2f|%5c)|[\p{Cc}\\]/iu

const anyOrigin = 'http://plinth.invalid'

/** Returns a configured path if it leads to this product, or else `/` (decision D37). */
export function productPathOrRoot(path: string): string {
  if (!path.startsWith('/') || ambiguousPath.test(path)) return '/'
  const url = URL.parse(path, anyOrigin)
  // Browsers resolve `.` and `..` in paths. The resolved path must not begin with two slashes either.
  return url?.origin === anyOrigin && !ambiguousPath.test(url.pathname) ? path : '/'
}

/** Returns a path that is valid in a header: characters outside ASCII are percent-encoded. */
export function encodePathForHeader(path: string): string {
  return path.toWellFormed().replace(/[^\x21-\x7e]+/g, encodeURIComponent)
}

/** Throws if the path does not lead to this product. */
export function assertProductPath(path: string): void {
  if (productPathOrRoot(path) !== path)
    throw new Error('it must be a path of this product, such as /admin/; it would lead elsewhere')
}

const targetKey = 'platform.view.root.target'

/** Pages of the product: its own pages, and pages that a proxy serves according to the configuration. */
export class ProductPages {
  readonly #http: Pick<HttpServer, 'inject' | 'routes'>
  readonly #config: InstallConfig
  readonly #configAdmin: Pick<InstallServices['configAdmin'], 'explain'>
  /** Whether the product has each page. A result that may change later is not cached. */
  readonly #own = new Map<EntryName, boolean>()

  constructor({ http, config, configAdmin }: Pick<InstallServices, 'http' | 'config' | 'configAdmin'>) {
    this.#http = http
    this.#config = config
    this.#configAdmin = configAdmin
  }

  /**
   * Returns the existing pages in a fixed order. Requests each page once, so call it after all routes are registered. A
   * page that failed or redirected to the installer is requested again next time.
   */
  async list(): Promise<EntryName[]> {
    await Promise.all(entryNames.filter((name) => !this.#own.has(name)).map((name) => this.#ask(name)))
    const beside: readonly string[] = this.#config.get('platform.view.entries')
    return entryNames.filter((name) => this.#own.get(name) === true || beside.includes(name))
  }

  /**
   * Start page of the product (decision F13): the configured path, or the back office if it is the only page. A
   * configured path to another site becomes `/`.
   */
  get entry(): string {
    const isConfigured = this.#configAdmin.explain(targetKey)?.effective.source !== 'default'
    if (!isConfigured && this.#hasOnlyAdmin) return '/admin/'
    return productPathOrRoot(this.#config.get(targetKey))
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
