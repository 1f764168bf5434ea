import { htmlText } from '@plinth/http'
import type { Say } from '../texts.ts'

interface Link {
  readonly href: string
  readonly text: string
}

/** Enough to be read by everybody, in the colours of the system. */
const style = `
:root { color-scheme: light dark; font: 1rem/1.6 system-ui, sans-serif; }
main { max-width: 34rem; margin: 18vh auto 0; padding: 0 1.5rem; }
h1 { font-size: 1.5rem; line-height: 1.3; }
ul { padding-left: 1.25rem; }
`

interface PlainPage {
  readonly locale: string
  /** Of the one answer: its style runs under it. */
  readonly nonce: string
  readonly title: string
  /** Stands behind the title of the window, unless it is in the title already; empty for none. */
  readonly siteTitle: string
  readonly paragraphs: readonly string[]
  readonly links: readonly Link[]
  /** Below the links. */
  readonly note?: string
}

/** A page without a script: what is served where nothing better was built. */
function plainPage({ locale, nonce, title, siteTitle, paragraphs, links, note }: PlainPage): string {
  const items = links.map(({ href, text }) => `<li><a href="${htmlText(href)}">${htmlText(text)}</a></li>`)
  return [
    `<!doctype html><html lang="${htmlText(locale)}"><head><meta charset="utf-8">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    // None, so that the browser asks for none.
    '<link rel="icon" href="data:,">',
    `<title>${htmlText(siteTitle === '' ? title : `${title} · ${siteTitle}`)}</title><style nonce="${htmlText(nonce)}">${style}</style></head>`,
    `<body><main><h1>${htmlText(title)}</h1>`,
    ...paragraphs.map((text) => `<p>${htmlText(text)}</p>`),
    items.length === 0 ? '' : `<ul>${items.join('')}</ul>`,
    note === undefined ? '' : `<p>${htmlText(note)}</p>`,
    '</main></body></html>',
  ].join('')
}

/** What every plain page needs to know of the answer that it is. */
interface PageContext {
  readonly locale: string
  readonly nonce: string
  readonly say: Say
  /** What the site calls itself; empty while it has no name. */
  readonly siteTitle: string
}

/**
 * Where the install page would be (document 3, "Access protection, root route and pages", point 4): it was not built, or it
 * is turned off while the product still waits to be installed.
 */
export function fallbackPage(
  { locale, nonce, say, siteTitle }: PageContext,
  lead: 'page.lead' | 'page.off' = 'page.lead',
): string {
  return plainPage({
    locale,
    nonce,
    siteTitle,
    title: say(locale, 'page.title'),
    paragraphs: [say(locale, lead)],
    links: [
      { href: '../api/v1/install/status', text: say(locale, 'page.status') },
      { href: '../docs/', text: say(locale, 'page.docs') },
    ],
    note: say(locale, 'page.command'),
  })
}

/** The root path of a product that has no entry of its own, or that would lead to itself (decision B60). */
export function rootPage(
  { locale, nonce, say, siteTitle }: PageContext,
  { prefix, isOpen }: { readonly prefix: string; readonly isOpen: boolean },
): string {
  const install = { href: `${prefix}/install/`, text: say(locale, 'page.install') }
  const docs = { href: `${prefix}/docs/`, text: say(locale, 'page.docs') }
  return plainPage({
    locale,
    nonce,
    siteTitle: '',
    title: say(locale, 'page.root-title', { product: siteTitle }),
    paragraphs: [say(locale, isOpen ? 'page.protected' : 'page.root-lead')],
    links: isOpen ? [install, docs] : [docs],
  })
}
