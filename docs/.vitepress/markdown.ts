import { dirname, relative, resolve } from 'node:path'
import type { MarkdownOptions } from 'vitepress'

type MarkdownIt = Parameters<NonNullable<MarkdownOptions['config']>>[0]

const root = resolve(import.meta.dirname, '..')

/** True if a relative link leaves `docs/` or leads to a page that the site does not contain. */
function leavesSite(href: string, page: string): boolean {
  if (/^(?:[a-z]+:|#|\/)/i.test(href)) return false
  const target = relative(root, resolve(dirname(page), href.replace(/#.*$/, '')))
  return target.startsWith('..') || target === 'requirements.md'
}

/**
 * Documents are written for readers of the repository. On the site, a link that leaves `docs/` becomes text, HTML
 * comments disappear, and angle brackets and braces of texts are shown as they are.
 */
export function adaptDocuments(md: MarkdownIt): void {
  md.core.ruler.push('links-of-site', ({ tokens, env }) => {
    for (const { children } of tokens) {
      let isText = false
      for (const token of children ?? []) {
        if (token.type === 'link_open') {
          const href = token.attrGet('href') ?? ''
          isText = leavesSite(href, String(env.path))
          token.attrSet('href', href.replace(/\bREADME\.md\b/, 'index.md'))
        }
        if (!isText || !/^link_(?:open|close)$/.test(token.type)) continue
        if (token.type === 'link_close') isText = false
        token.type = token.type.replace('link', 'text_of_link')
        token.tag = 'span'
        token.attrs = null
      }
    }
  })
  const escapeHtml = (text: string) => md.utils.escapeHtml(text).replaceAll('{{', '&#123;&#123;')
  const withoutComments: NonNullable<MarkdownIt['renderer']['rules'][string]> = (tokens, index) => {
    const content = tokens[index]?.content ?? ''
    return content.startsWith('<!--') ? '' : escapeHtml(content)
  }
  md.renderer.rules['html_block'] = withoutComments
  md.renderer.rules['html_inline'] = withoutComments
  md.renderer.rules['text'] = (tokens, index) => escapeHtml(tokens[index]?.content ?? '')
}
