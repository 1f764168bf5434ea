import { randomBytes } from 'node:crypto'
import type { HttpReply, HttpRequest } from '../routes/declaration.ts'

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes text for HTML content and for attributes in quotes. */
export const htmlText = (text: string): string => text.replace(/[&<>"']/g, (sign) => entities[sign] ?? sign)

export interface PageAsset {
  readonly body: Uint8Array
  readonly contentType: string
  /** `br` or `gzip` if the body is compressed. */
  readonly encoding?: string
  /** True if the file name changes with the content. Then browsers cache the file for a year. */
  readonly immutable: boolean
}

export interface PageRequest {
  /** Nonce that each script and style must have. */
  readonly nonce: string
  readonly locale: string
  /** Name of the site; empty or undefined if it has no name. */
  readonly siteTitle?: string
}

/** A page for browsers and its files. Another plugin may serve it. */
export interface BrowserPage {
  /**
   * Returns the HTML; `undefined` while the page is not built. Browsers run only scripts and styles with the nonce.
   * `<meta property="csp-nonce">` must contain it too.
   */
  html(page: PageRequest): string | undefined | Promise<string | undefined>
  /**
   * Returns a file of the page, for example `assets/index-4f3a.js`.
   *
   * @param path decoded, without a leading slash
   * @param encodings that the caller accepts, lower case, preferred first
   */
  asset(path: string, encodings: readonly string[]): PageAsset | undefined | Promise<PageAsset | undefined>
}

/** Allows files of the product, and scripts and styles with the nonce. */
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

/** Returns a new nonce for a raw route and sets a content security policy with it. */
export function pageNonce(reply: HttpReply): string {
  const nonce = randomBytes(16).toString('base64')
  reply.header('content-security-policy', policy(nonce))
  return nonce
}

/** Sends the HTML of a page, which must not be cached. */
export const sendPage = (reply: HttpReply, html: string) =>
  reply
    .header('cache-control', 'no-store')
    .header('vary', 'accept-language')
    .type('text/html; charset=utf-8')
    .send(html)

/** Sends a file of a page, or 404. Use it for raw routes whose path ends with `*`. */
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
