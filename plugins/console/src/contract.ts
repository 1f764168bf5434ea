import type { BrowserPage } from '@plinth/http'
import { service } from '@plinth/kernel'

/**
 * The service that the plugin `install` requires. Both declare it with the same id, so that neither depends on the
 * other.
 */
export const installPage = service<BrowserPage>('install.page', { from: '@plinth/console' })

/** The pages of one build. */
export interface BuiltPages {
  /** @param name `install`, `admin` */
  page(name: string): BrowserPage
}

/** For the plugins of this package. */
export const builtPages = service<BuiltPages>('console.built-pages', { from: '@plinth/console' })
