import type { FastifyRequest } from 'fastify'

/**
 * Whose page made a browser send a request: one of this product, one of another site, or nobody knows, as for programs,
 * which send neither `Origin` nor `Sec-Fetch-Site`.
 */
export function pageOrigin({ headers, calledHost }: Pick<FastifyRequest, 'headers' | 'calledHost'>) {
  const site = headers['sec-fetch-site']
  // No page can write this header, so what it says is so, also behind a proxy that hides the host.
  if (site === 'same-origin') return 'own'
  if (site !== undefined && site !== 'none') return 'foreign'
  const { origin } = headers
  if (origin === undefined) return 'unknown'
  const from = URL.parse(origin)
  // The scheme of the page decides which port goes without saying.
  const isOwn = from !== null && from.host !== '' && from.host === URL.parse(`${from.protocol}//${calledHost}`)?.host
  return isOwn ? 'own' : 'foreign'
}
