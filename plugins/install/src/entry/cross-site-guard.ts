import { pageOrigin, type RouteGuard } from '@plinth/http'
import { refusal } from '../texts.ts'

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
        if (pageOrigin(request) === 'foreign') throw refusal('cross-site', { text: 'entry.cross-site' })
      }
    },
  }
}
