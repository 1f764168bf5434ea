import type { RouteGuard } from '@plinth/http'
import { BusinessError } from '@plinth/kernel'
import type { HttpRequest } from './http-types.ts'

/**
 * Refuses what a page of another site makes a browser send: most operations need no body, and without a token nothing
 * else would stop it. Programs send neither header and pass.
 */
export function crossSiteGuard(plugin: string): RouteGuard {
  return {
    name: 'install.cross-site',
    stage: 'gate',
    forRoute(route) {
      if (route.plugin !== plugin || route.method === 'GET') return undefined
      return (request) => {
        if (isCrossSite(request)) throw crossSite()
      }
    },
  }
}

function isCrossSite({ headers, calledHost }: Pick<HttpRequest, 'headers' | 'calledHost'>): boolean {
  const site = headers['sec-fetch-site']
  // No page can write this header, so what it says is so, also behind a proxy that hides the host.
  if (site === 'same-origin') return false
  if (site !== undefined && site !== 'none') return true
  const { origin } = headers
  if (origin === undefined) return false
  const from = URL.parse(origin)
  // The scheme of the page decides which port goes without saying.
  return from === null || from.host === '' || from.host !== URL.parse(`${from.protocol}//${calledHost}`)?.host
}

const crossSite = () =>
  new BusinessError('403', 'This request comes from another site.', {
    reason: 'install.cross-site',
    messageKey: 'messages.install.entry.cross-site',
  })
