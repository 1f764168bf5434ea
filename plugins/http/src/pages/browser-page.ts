import { randomBytes } from 'node:crypto'
import type { HttpReply, HttpRequest } from '../routes/declaration.ts'

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** A text as it stands in HTML, also between quotes. */
export const htmlText = (text: string): string => text.replace(/[&<>"']/g, (sign) => entities[sign] as string)

/** A file below a page. */
export interface PageAsset {
  readonly body: Uint8Array
  readonly contentType: string
  /** `br` or `gzip` for a body that is compressed already. */
  readonly encoding?: string
  /** True for a file whose name changes with its content. */
  readonly immutable: boolean
}

/** One response that shows a page. */
export interface PageRequest {
  /** Scripts and styles of the response run under it. */
  readonly nonce: string
  readonly locale: string
  /** What the site calls itself; empty or absent while it has no name. */
  readonly siteTitle?: string
}

/** A page that a browser loads, with its files: made by one plugin, served under a path by another or by itself. */
export interface BrowserPage {
  /**
   * The HTML. Every `<script>` and `<style>` in it carries the nonce, which also belongs into
   * `<meta property="csp-nonce">`; nothing else may run. `undefined` while the page is not built.
   */
  html(page: PageRequest): string | undefined | Promise<string | undefined>
  /**
   * A file below the page, for example `assets/index-4f3a.js`.
   *
   * @param path decoded, without a leading slash
   * @param encodings that the caller accepts, lower case, best first
   */
  asset(path: string, encodings: readonly string[]): PageAsset | undefined | Promise<PageAsset | undefined>
}

/** What a page may load: what we serve, and what carries the nonce of this one answer. */
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

/** For one answer of a raw route, which gets the policy that names it. */
export function pageNonce(reply: HttpReply): string {
  const nonce = randomBytes(16).toString('base64')
  reply.header('content-security-policy', policy(nonce))
  return nonce
}

/** Sends the HTML of a page, which no cache keeps. */
export const sendPage = (reply: HttpReply, html: string) =>
  reply
    .header('cache-control', 'no-store')
    .header('vary', 'accept-language')
    .type('text/html; charset=utf-8')
    .send(html)

/** Answers with a file of a page, or with the answer for an unknown address. For raw routes whose path ends with `*`. */
export async function sendPageAsset(
  request: Pick<HttpRequest, 'headers'> & { readonly params: unknown },
  page: Pick<BrowserPage, 'asset'> | undefined,
  reply: HttpReply,
) {
  const path = String((request.params as Readonly<Record<string, string>>)['*'])
  const asset = await page?.asset(path, encodingsOf(request.headers['accept-encoding']))
  if (asset === undefined) return reply.header('cache-control', 'no-store').callNotFound()
  if (asset.encoding !== undefined) reply.header('content-encoding', asset.encoding)
  return reply
    .header('cache-control', asset.immutable ? 'public, max-age=31536000, immutable' : 'no-cache')
    .header('vary', 'accept-encoding')
    .type(asset.contentType)
    .send(Buffer.from(asset.body))
}

/** Encodings of a header, best first; those that are refused are left out. */
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
