import type { BrowserPage } from '@plinth/http'
import { service } from '@plinth/kernel'

/**
 * Service that the plugin `install` requires. This package and `install` both declare it with the same id, so that
 * neither package depends on the other.
 */
export const installPage = service<BrowserPage>('install.page', { from: '@plinth/console' })

/** The pages of one build. */
export interface BuiltPages {
  /** @param name `install`, `admin` */
  page(name: string): BrowserPage
}

/** Service that gives the plugins of this package access to the built pages. */
export const builtPages = service<BuiltPages>('console.built-pages', { from: '@plinth/console' })
