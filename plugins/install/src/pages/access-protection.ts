import type { GuardHandler, HttpReply, HttpRequest } from '@plinth/http'
import { installPath } from '../contract.ts'
import type { InstallState } from '../state/install-state.ts'
import type { Say } from '../texts.ts'

interface AccessProtectionParts {
  readonly state: Pick<InstallState, 'isKnownInstalled'>
  /** Whether the root path leads to the installation by itself. */
  readonly takesRoot: boolean
  readonly say: Say
}

/** The installation itself, and the probes by which a platform tells whether the process lives. */
const passes = /^\/(?:install(?:\/|$)|api\/v1\/install(?:\/|$)|health\/)/
const pages = /^\/(?:admin|app|pc|docs)(?:\/|$)/

/**
 * While the product is not installed, pages lead to the installation and everything else is refused (document 3, "Access
 * protection, root route and pages", point 1; decision B61).
 */
export function accessProtection({ state, takesRoot, say }: AccessProtectionParts): GuardHandler {
  return (request, reply) => {
    if (state.isKnownInstalled) return
    const [path = '/'] = request.url.split('?', 1)
    if (passes.test(path) || (path === '/' && takesRoot)) return
    if (isPage(request, path)) {
      reply.header('cache-control', 'no-store').redirect(request.contextPath + installPath, 302)
      return
    }
    refuse(request, reply, say)
  }
}

function isPage({ method, headers }: HttpRequest, path: string): boolean {
  if ((method !== 'GET' && method !== 'HEAD') || path.startsWith('/api/') || headers.upgrade !== undefined) return false
  return pages.test(path) || path === '/' || (headers.accept ?? '').includes('text/html')
}

/** The one JSON answer whose HTTP status is not 200 (decision D1). */
function refuse({ locale }: HttpRequest, reply: HttpReply, say: Say): void {
  const body = { code: '503', message: say(locale, 'page.protected'), data: { reason: 'install.required' } }
  reply
    .code(503)
    .header('cache-control', 'no-store')
    .header('x-content-type-options', 'nosniff')
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(body))
}
