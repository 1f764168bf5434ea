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

/** The page at `/install/`, as the plugin `install` serves it: routes, headers and policy are its own. */
export interface InstallPage {
  /** The HTML for one response; `undefined` when there is no page. */
  html(page: { readonly nonce: string; readonly locale: string }): Promise<string | undefined>
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
