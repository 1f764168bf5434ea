import { hash } from 'node:crypto'
import type { FramePageDeclaration } from '@plinth/admin'
import { connectFrame } from './frame-client.ts'

/** Address of the documents below the context path. */
export const framesPath = '/admin/frames/'

/** Parsers of HTML read each line break as this one, so the hash of a script is that of the text with it. */
const withUnixLines = (text: string) => text.replace(/\r\n?/g, '\n')

const baseStyle = `:root{color-scheme:light dark;font:1rem/1.55 system-ui,sans-serif}
body{margin:0;color:var(--plinth-text)}`

/** A document for a frame, with the headers that isolate it. */
export interface FrameDocument {
  readonly html: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Returns the document of a frame. The script of the back office and the script of the plugin are one element, so that
 * no nested document can run the second without the first.
 */
export function frameDocument({ script, html = '', style = '' }: FramePageDeclaration): FrameDocument {
  const whole = withUnixLines(`globalThis.plinth=(${connectFrame.toString()})();\n${script}`)
  return {
    html: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Plinth</title>
<style>${baseStyle}</style>
<style>${style}</style>
</head>
<body>
${html}
<script>${whole}</script>
</body>
</html>
`,
    headers: {
      'content-security-policy': policyOf(hash('sha256', whole, 'base64')),
      // The content security policy does not apply to peer connections. In browsers that know this header, it does.
      'connection-allowlist': '()',
      'permissions-policy': 'camera=(), display-capture=(), geolocation=(), microphone=()',
      'referrer-policy': 'no-referrer',
      'x-dns-prefetch-control': 'off',
      // The origin of the document is opaque, so it cannot share the agent cluster of the back office.
      'origin-agent-cluster': '?0',
      'cache-control': 'no-cache',
    },
  }
}

/** Also isolates a document that a user opens outside of the back office: `sandbox` gives it an origin of its own. */
const policyOf = (scriptHash: string) =>
  [
    'sandbox allow-scripts',
    `default-src 'none'`,
    `script-src 'sha256-${scriptHash}'`,
    `style-src 'unsafe-inline'`,
    'img-src data: blob:',
    'font-src data:',
    'media-src data: blob:',
    `connect-src 'none'`,
    `worker-src 'none'`,
    `frame-src 'none'`,
    `object-src 'none'`,
    `base-uri 'none'`,
    `form-action 'none'`,
    `frame-ancestors 'self'`,
  ].join('; ')

/**
 * Returns a content security policy for the back office, in addition to its own: frames show only documents of this
 * module. Without it, a script could send data to any path of this host by opening it in its frame.
 */
export const framesOnly = (contextPath: string) => `frame-src *:*${contextPath}${framesPath}`
