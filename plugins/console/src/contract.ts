import type { BrowserPage } from '@plinth/http'
import { service } from '@plinth/kernel'

/** The service that the plugin `install` asks for. Met by its id, so that neither plugin needs the other. */
export const installPage = service<BrowserPage>('install.page', { from: '@plinth/console' })

/** The pages that one build makes. */
export interface BuiltPages {
  /** @param name `install`, `admin` */
  page(name: string): BrowserPage
}

/** For the plugins of this package. */
export const builtPages = service<BuiltPages>('console.built-pages', { from: '@plinth/console' })
