import { randomBytes } from 'node:crypto'
import type { HttpReply, HttpRequest } from '../routes/declaration.ts'

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes a text for HTML, also within quotes. */
export const htmlText = (text: string): string => text.replace(/[&<>"']/g, (sign) => entities[sign] ?? sign)

/** A file below a page. */
export interface PageAsset {
  readonly body: Uint8Array
  readonly contentType: string
  /** `br` or `gzip` for a compressed body. */
  readonly encoding?: string
  /** True for a file whose name changes with its content. */
  readonly immutable: boolean
}

/** One response that shows a page. */
export interface PageRequest {
  /** Nonce for scripts and styles of the response. */
  readonly nonce: string
  readonly locale: string
  /** Name of the site; empty or undefined if it has none. */
  readonly siteTitle?: string
}

/** A page for browsers, with its files. One plugin creates it. The same or another plugin serves it under a path. */
export interface BrowserPage {
  /**
   * Returns the HTML; `undefined` while the page is not built. Each `<script>` and `<style>` in it has the nonce, which
   * must also be in `<meta property="csp-nonce">`. Other scripts and styles do not run.
   */
  html(page: PageRequest): string | undefined | Promise<string | undefined>
  /**
   * Returns a file below the page, for example `assets/index-4f3a.js`.
   *
   * @param path decoded, without a leading slash
   * @param encodings accepted by the caller, lower case, best first
   */
  asset(path: string, encodings: readonly string[]): PageAsset | undefined | Promise<PageAsset | undefined>
}

/** A page may load files of the product and elements with the nonce of this response. */
const policy = (nonce: string) =>
  [
    `default-src 'self'`,
    `script-src 'self' 'nonce-${nonce}'`,
    `style-src 'self' 'nonce-${nonce}'`,
    `img-src 'self' data:`,
    `connect-src 'self'`,
    `object-src 'none'`,
    `base-uri 'self'`,
    `frame-ancestors 'none'`,
    `form-action 'self'`,
  ].join('; ')

/** Creates a nonce for one response of a raw route and sets the policy with it. */
export function pageNonce(reply: HttpReply): string {
  const nonce = randomBytes(16).toString('base64')
  reply.header('content-security-policy', policy(nonce))
  return nonce
}

/** Sends the HTML of a page, without caching. */
export const sendPage = (reply: HttpReply, html: string) =>
  reply
    .header('cache-control', 'no-store')
    .header('vary', 'accept-language')
    .type('text/html; charset=utf-8')
    .send(html)

/** Sends a file of a page, or the response for an unknown path. For raw routes whose path ends with `*`. */
export async function sendPageAsset(
  request: Pick<HttpRequest, 'headers'> & { readonly params: unknown },
  page: Pick<BrowserPage, 'asset'> | undefined,
  reply: HttpReply,
) {
  const path = String(Object(request.params)['*'])
  const asset = await page?.asset(path, encodingsOf(request.headers['accept-encoding']))
  if (asset === undefined) return reply.header('cache-control', 'no-store').callNotFound()
  if (asset.encoding !== undefined) reply.header('content-encoding', asset.encoding)
  return reply
    .header('cache-control', asset.immutable ? 'public, max-age=31536000, immutable' : 'no-cache')
    .header('vary', 'accept-encoding')
    .type(asset.contentType)
    .send(Buffer.from(asset.body))
}

/** Returns the accepted encodings of a header, best first. */
function encodingsOf(header: string | string[] | undefined): string[] {
  const offers = String(header ?? '')
    .toLowerCase()
    .split(',')
    .map((offer) => {
      const [name = '', ...parameters] = offer.split(';').map((part) => part.trim())
      const weight = parameters.find((parameter) => parameter.startsWith('q='))
      return { name, weight: weight === undefined ? 1 : Number(weight.slice(2)) }
    })
  return offers
    .filter(({ name, weight }) => name !== '' && weight > 0)
    .sort((a, b) => b.weight - a.weight)
    .map(({ name }) => name)
}
