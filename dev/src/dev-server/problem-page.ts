import { createServer, type Server } from 'node:http'
import { isIP } from 'node:net'
import { stripVTControlCharacters } from 'node:util'
import type { FailedStartReport } from '@plinth/kernel/supervisor'

const reloadSeconds = 2

const isLoopback = (host: string) => host === 'localhost' || host === '::1' || /^127\./.test(host)

const escaped = (text: string) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)

const page = (title: string, text: string) => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="${reloadSeconds}">
<title>${title}</title>
<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem}
pre{white-space:pre-wrap;overflow-wrap:anywhere;border:1px solid;border-radius:4px;padding:1rem}</style></head>
<body><h1>${title}</h1><pre>${escaped(text)}</pre>
<p>Correct the problem and save the file. This page reloads automatically.</p></body></html>
`

/** A server that responds instead of a product that does not start. */
interface ProblemPage {
  /** Resolves when the server has closed its port. */
  close(): Promise<void>
}

/**
 * Starts a server that responds to each request with status 503 and the problem: a page for browsers, otherwise JSON.
 * It shows the details only if it listens on loopback and the request uses a loopback name. Otherwise another machine
 * could read them, or a web page whose DNS name points to this machine (DNS rebinding). If the port is in use, nothing
 * is started.
 */
export async function serveProblemPage(failure: FailedStartReport, host: string, port: number): Promise<ProblemPage> {
  const title = 'The product does not run'
  const server = createServer((request, response) => {
    const name = (request.headers.host ?? '').replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')
    const isVisible = isLoopback(host) && isLoopback(name)
    const message = isVisible
      ? stripVTControlCharacters(failure.text)
      : 'The terminal of `plinth dev` shows the reason.'
    const isBrowser = (request.headers.accept ?? '').includes('text/html')
    response.writeHead(503, {
      'content-type': isBrowser ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'retry-after': String(reloadSeconds),
      connection: 'close',
    })
    response.end(isBrowser ? page(title, message) : `${JSON.stringify({ error: { code: failure.code, message } })}\n`)
  })
  const isListening = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, isIP(host) === 0 ? 'localhost' : host, () => resolve(true))
  })
  return { close: () => (isListening ? closed(server) : Promise.resolve()) }
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
