import { service } from '@plinth/kernel'

/** A file below a page. */
export interface PageAsset {
  readonly body: Uint8Array
  readonly contentType: string
  /** `br` or `gzip` for a body that is compressed already. */
  readonly encoding?: string
  /** True for a file whose name changes with its content. */
  readonly immutable: boolean
}

/** One response that shows the page. */
export interface PageRequest {
  /** Scripts and styles of the response run under it. */
  readonly nonce: string
  readonly locale: string
  /** What the site calls itself; empty or absent while it has no name. */
  readonly siteTitle?: string
}

/** The page at `/install/`, as the plugin `install` serves it: routes, headers and policy are its own. */
export interface InstallPage {
  /** The HTML for one response; `undefined` when there is no page. */
  html(page: PageRequest): Promise<string | undefined>
  /**
   * A file below `/install/`.
   *
   * @param path decoded, without a leading slash
   * @param encodings that the caller accepts, best first
   */
  asset(path: string, encodings: readonly string[]): Promise<PageAsset | undefined>
}

/** The service that the plugin `install` asks for. Met by its id, so that neither plugin needs the other. */
export const installPage = service<InstallPage>('install.page', { from: '@plinth/console' })
