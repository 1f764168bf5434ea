import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { rolldown } from 'rolldown'

const pages = join(import.meta.dirname, 'pages')
const scripts = ['plain.js', 'react.jsx', 'vue.js'] as const

/** Constants that the libraries read. */
const define = {
  'process.env.NODE_ENV': '"production"',
  __VUE_OPTIONS_API__: 'false',
  __VUE_PROD_DEVTOOLS__: 'false',
  __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false',
}

export interface SiteOptions {
  /** Returns the address of the product. */
  readonly apiUrl: () => string
  /** Returns a token for the user who is signed in to this site. */
  readonly createToken: () => Promise<{ readonly token: string }>
}

/** Returns the strictest policy that the inbox needs: no inline styles, no inline scripts, no markup from scripts. */
export function policyOf(apiUrl: string): string {
  const { origin } = new URL(apiUrl)
  return [
    "default-src 'none'",
    "script-src 'self'",
    `connect-src 'self' ${origin} ${origin.replace('http', 'ws')}`,
    "require-trusted-types-for 'script'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/** Bundles the scripts of the pages, and returns a server for them. */
export async function createSite({ apiUrl, createToken }: SiteOptions): Promise<Server> {
  const bundles = new Map(await Promise.all(scripts.map(bundle)))
  return createServer(async (request, response) => {
    const send = (status: number, type: string, body: string) =>
      response
        .writeHead(status, {
          'content-type': `${type}; charset=utf-8`,
          'content-security-policy': policyOf(apiUrl()),
          'cache-control': 'no-store',
        })
        .end(body)
    const path = request.url?.split('?', 1)[0] ?? '/'
    const script = bundles.get(path)
    const [, page] = /^\/(plain|react|vue)?$/.exec(path) ?? []
    if (path === '/inbox-token') {
      // A page of another site must not get a token. Your site also checks its own session here.
      const isOwn = request.method === 'POST' && request.headers['sec-fetch-site'] === 'same-origin'
      if (!isOwn) return send(403, 'application/json', '{}')
      return createToken().then(
        (token) => send(200, 'application/json', JSON.stringify(token)),
        (error) => {
          console.error(error)
          send(502, 'application/json', '{}')
        },
      )
    }
    if (script !== undefined) return send(200, 'text/javascript', script)
    if (page === undefined && path !== '/') return send(404, 'text/plain', 'Not found')
    const html = readFileSync(join(pages, `${page ?? 'plain'}.html`), 'utf8')
    return send(200, 'text/html', html.replaceAll('{{apiUrl}}', apiUrl()))
  })
}

async function bundle(name: (typeof scripts)[number]): Promise<readonly [path: string, code: string]> {
  const built = await rolldown({ input: join(pages, name), platform: 'browser', transform: { define } })
  const { output } = await built.generate({ format: 'esm', minify: true })
  await built.close()
  return [`/${name.replace('.jsx', '.js')}`, output[0].code]
}

/** Signs in to the product, and returns a function that creates tokens of this user. A site with a plugin uses `inboxEmbedding`. */
export function tokensOf(apiUrl: string, username: string, password: string): SiteOptions['createToken'] {
  let session: Promise<string> | undefined
  const post = async (path: string, init: RequestInit) => {
    const response = await fetch(`${apiUrl}/api/v1/${path}`, {
      method: 'POST',
      signal: AbortSignal.timeout(10_000),
      ...init,
    })
    const { code, message, data } = (await response.json()) as {
      code: string
      message: string
      data: Record<string, string>
    }
    if (code !== '200') throw new Error(`${path}: ${code} ${message}`)
    return data
  }
  const signIn = async () => {
    const body = JSON.stringify({ username, password })
    const data = await post('auth/login', { body, headers: { 'content-type': 'application/json' } })
    return data['accessToken'] ?? ''
  }
  return async () => {
    session ??= signIn()
    try {
      const { token = '' } = await post('notifications/inbox-tokens', {
        headers: { authorization: `Bearer ${await session}` },
      })
      return { token }
    } catch (error) {
      session = undefined
      throw error
    }
  }
}

if (import.meta.main) {
  const { API_URL = 'http://localhost:3000', PORT = '8090', INBOX_USER = '', INBOX_PASSWORD = '' } = process.env
  const site = await createSite({ apiUrl: () => API_URL, createToken: tokensOf(API_URL, INBOX_USER, INBOX_PASSWORD) })
  site.listen(Number(PORT), 'localhost', () => console.log(`http://localhost:${PORT}/plain, /react and /vue`))
}
