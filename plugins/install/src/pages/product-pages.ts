import type { HttpServer } from '@plinth/http'
import type { InstallConfig } from '../config.ts'
import { type EntryName, entryNames, installPath } from '../contract.ts'
import type { Parts } from '../parts.ts'
import { ownPath } from './own-path.ts'

const targetKey = 'platform.view.root.target'

/** Which pages there are behind the product: what it serves itself, and what a proxy is said to serve beside it. */
export class ProductPages {
  readonly #http: Pick<HttpServer, 'inject' | 'routes'>
  readonly #config: InstallConfig
  readonly #configAdmin: Pick<Parts['configAdmin'], 'explain'>
  /** Whether there is such a page, as far as the product has said. */
  readonly #own = new Map<EntryName, boolean>()

  constructor({ http, config, configAdmin }: Pick<Parts, 'http' | 'config' | 'configAdmin'>) {
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
