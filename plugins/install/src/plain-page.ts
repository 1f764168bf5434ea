import type { Say } from './texts.ts'

interface Link {
  readonly href: string
  readonly text: string
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const escaped = (text: string) => text.replace(/[&<>"']/g, (sign) => escapes[sign] ?? sign)

/** A page without style or script: what is served where nothing better was built. */
function plainPage(locale: string, title: string, paragraphs: readonly string[], links: readonly Link[]): string {
  const items = links.map(({ href, text }) => `<li><a href="${escaped(href)}">${escaped(text)}</a></li>`)
  return [
    `<!doctype html><html lang="${escaped(locale)}"><head><meta charset="utf-8">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escaped(title)}</title></head><body><main><h1>${escaped(title)}</h1>`,
    ...paragraphs.map((text) => `<p>${escaped(text)}</p>`),
    items.length === 0 ? '' : `<ul>${items.join('')}</ul>`,
    '</main></body></html>',
  ].join('')
}

/** Where the install page would be (document 3, "Access protection, root route and pages", point 4). */
export function fallbackPage(locale: string, say: Say): string {
  return plainPage(
    locale,
    say(locale, 'page.title'),
    [say(locale, 'page.lead')],
    [
      { href: '../api/v1/install/status', text: say(locale, 'page.status') },
      { href: '../docs/', text: say(locale, 'page.docs') },
    ],
  ).replace('</main>', `<p>${escaped(say(locale, 'page.command'))}</p></main>`)
}

/** The root path of a product that has no entry of its own, or that would lead to itself (decision B60). */
export function rootPage(
  locale: string,
  say: Say,
  { product, prefix, isOpen }: { readonly product: string; readonly prefix: string; readonly isOpen: boolean },
): string {
  const install = { href: `${prefix}/install/`, text: say(locale, 'page.install') }
  const docs = { href: `${prefix}/docs/`, text: say(locale, 'page.docs') }
  const lead = say(locale, isOpen ? 'page.protected' : 'page.root-lead')
  return plainPage(locale, say(locale, 'page.root-title', { product }), [lead], isOpen ? [install, docs] : [docs])
}
