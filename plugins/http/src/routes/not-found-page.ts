import { hash } from 'node:crypto'
import { htmlText } from '../pages/html-text.ts'
import { ownText, type Say } from '../texts.ts'

const style =
  ':root{color-scheme:light dark;font:1rem/1.6 system-ui,sans-serif}main{max-width:30rem;margin:20vh auto 0;padding:0 1.5rem}h1{font-size:1.5rem}'

/** The one style of the page and nothing else: no script, no picture, no form, no frame. */
export const pagePolicy = [
  `default-src 'none'`,
  `style-src 'sha256-${hash('sha256', style, 'base64')}'`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ')

/**
 * The page for an address at which there is nothing. It shows nothing of the request.
 *
 * @param home path of the start page as a browser calls it; of characters that HTML leaves alone
 */
export function notFoundPage(say: Say, locale: string, home: string): string {
  const text = (name: string) => htmlText(say(locale, `messages.http.${name}`, {}, ownText(`messages.http.${name}`)))
  const title = text('route-unknown')
  return `<!doctype html>
<html lang="${htmlText(locale)}">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>404</title>
    <style>${style}</style>
  </head>
  <body>
    <main>
      <h1>${title}</h1>
      <p><a href="${htmlText(home)}">${text('home')}</a></p>
    </main>
  </body>
</html>
`
}
