import { htmlText } from '@plinth/http'
import type { Translate } from '../texts.ts'

interface Link {
  readonly href: string
  readonly text: string
}

const style = `
:root { color-scheme: light dark; font: 1rem/1.6 system-ui, sans-serif; }
main { max-width: 34rem; margin: 18vh auto 0; padding: 0 1.5rem; }
h1 { font-size: 1.5rem; line-height: 1.3; }
ul { padding-left: 1.25rem; }
`

interface PlainPage {
  readonly locale: string
  /** Nonce of this response, which allows the inline style. */
  readonly nonce: string
  readonly title: string
  /** Appended to the window title, unless empty. */
  readonly siteTitle: string
  readonly paragraphs: readonly string[]
  readonly links: readonly Link[]
  readonly note?: string
}

function plainPage({ locale, nonce, title, siteTitle, paragraphs, links, note }: PlainPage): string {
  const items = links.map(({ href, text }) => `<li><a href="${htmlText(href)}">${htmlText(text)}</a></li>`)
  return [
    `<!doctype html><html lang="${htmlText(locale)}"><head><meta charset="utf-8">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    // An empty icon stops the browser from requesting one.
    '<link rel="icon" href="data:,">',
    `<title>${htmlText(siteTitle === '' ? title : `${title} · ${siteTitle}`)}</title><style nonce="${htmlText(nonce)}">${style}</style></head>`,
    `<body><main><h1>${htmlText(title)}</h1>`,
    ...paragraphs.map((text) => `<p>${htmlText(text)}</p>`),
    items.length === 0 ? '' : `<ul>${items.join('')}</ul>`,
    note === undefined ? '' : `<p>${htmlText(note)}</p>`,
    '</main></body></html>',
  ].join('')
}

interface PageContext {
  readonly locale: string
  readonly nonce: string
  readonly translate: Translate
  readonly siteTitle: string
}

/**
 * Returns the page that replaces the installation page if it was not built, or if it is disabled although the product
 * is not installed (document 3 of the specification, "Access protection, root route and pages", point 4).
 */
export function fallbackPage(
  { locale, nonce, translate, siteTitle }: PageContext,
  lead: 'page.lead' | 'page.off' = 'page.lead',
): string {
  return plainPage({
    locale,
    nonce,
    siteTitle,
    title: translate(locale, 'page.title'),
    paragraphs: [translate(locale, lead)],
    links: [
      { href: '../api/v1/install/status', text: translate(locale, 'page.status') },
      { href: '../docs/', text: translate(locale, 'page.docs') },
    ],
    note: translate(locale, 'page.command'),
  })
}

/**
 * Returns the page at the root path if the product has no start page, or if the start page would redirect to itself
 * (decision B60).
 */
export function rootPage(
  { locale, nonce, translate, siteTitle }: PageContext,
  { prefix, isOpen }: { readonly prefix: string; readonly isOpen: boolean },
): string {
  const install = { href: `${prefix}/install/`, text: translate(locale, 'page.install') }
  const docs = { href: `${prefix}/docs/`, text: translate(locale, 'page.docs') }
  return plainPage({
    locale,
    nonce,
    siteTitle: '',
    title: translate(locale, 'page.root-title', { product: siteTitle }),
    paragraphs: [translate(locale, isOpen ? 'page.protected' : 'page.root-lead')],
    links: isOpen ? [install, docs] : [docs],
  })
}
