import { readFileSync } from 'node:fs'
import { routesWith } from '@plinth/http'

/** The files in `browser/`, which pages load from the product or integrators copy. */
const files = ['push.js', 'service-worker.js']

const { rawRoute } = routesWith<void>()

/** Routes of the script and the service worker. Both load nothing else. */
export const browserFileRoutes = files.map((file) => {
  const script = readFileSync(new URL(`../browser/${file}`, import.meta.url), 'utf8')
  return rawRoute({
    method: 'GET',
    path: `/api/v1/push/browser/${file}`,
    summary: `Get ${file}`,
    access: 'public',
    produces: ['text/javascript'],
    hidden: true,
    reasons: [],
    handler: (_request, _parts, reply) =>
      reply
        .header('content-security-policy', "default-src 'none'; connect-src 'self'")
        .header('cache-control', 'no-cache')
        .type('text/javascript; charset=utf-8')
        .send(script),
  })
})
