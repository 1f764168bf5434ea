import type { MarkdownOptions } from 'vitepress'
import { linkOnSite } from './links.ts'

type MarkdownIt = Parameters<NonNullable<MarkdownOptions['config']>>[0]

/**
 * Documents are written for readers of the repository. On the site, links lead to the pages of the site, HTML comments
 * disappear, and angle brackets and braces of texts are shown as they are. Long names and lists
 * can break, so that tables fit the page.
 */
export function adaptDocuments(md: MarkdownIt): void {
  md.core.ruler.push('links-of-site', ({ tokens, env }) => {
    for (const { children } of tokens) {
      let isText = false
      for (const token of children ?? []) {
        if (token.type === 'link_open') {
          const href = linkOnSite(token.attrGet('href') ?? '', String(env.path))
          isText = href === undefined
          if (href !== undefined) token.attrSet('href', href)
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
  const code = md.renderer.rules.code_inline
  if (code)
    md.renderer.rules.code_inline = (...words) =>
      code(...words)
        .replaceAll('{{', '&#123;&#123;')
        .replaceAll(/(?<=\w[._:]|[,)\]|+*}])(?=\S)/g, '<wbr>')
  md.renderer.rules['text'] = (tokens, index) =>
    escapeHtml(tokens[index]?.content ?? '').replaceAll(/(?<=、|\w\/)(?=\S)/g, '<wbr>')
}
