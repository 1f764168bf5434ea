import { dirname, relative, resolve } from 'node:path'
import { apiModules } from '../../scripts/api-reference/index.ts'

const docs = resolve(import.meta.dirname, '..')

/** Pages that the site does not contain. */
export const excludedPages: readonly string[] = ['requirements.md']

/**
 * Returns the target on the site of a link in a document. Documents are written for readers of the repository, so some
 * links have another target on the site: `README.md` is `index.md` there, and the README of a package is its API
 * reference. Returns undefined if the site does not contain the target.
 *
 * @param page path of the document
 */
export function linkOnSite(href: string, page: string): string | undefined {
  if (/^(?:[a-z]+:|#|\/)/i.test(href)) return href
  const target = relative(docs, resolve(dirname(page), href.replace(/#.*$/, ''))).replaceAll('\\', '/')
  const [, name = ''] = /^\.\.\/(?:plugins\/)?([\w-]+)\/README\.md$/.exec(target) ?? []
  if (name in apiModules) return relative(dirname(page), resolve(docs, `reference/${name}.md`)).replaceAll('\\', '/')
  if (target.startsWith('..') || excludedPages.includes(target)) return undefined
  return href.replace(/\bREADME\.md\b/, 'index.md')
}

/**
 * Returns the text of a document with the links of the site. A link whose target the site does not contain becomes
 * text.
 *
 * @param page path of the document
 */
export const withLinksOfSite = (text: string, page: string): string =>
  text.replaceAll(
    /^ *```[\s\S]*?^ *```$|\[((?:[^[\]]|\[[^[\]]*\])*)\]\(([^()\s]+)\)/gm,
    (found: string, label: string | undefined, href: string) => {
      if (label === undefined) return found
      const target = linkOnSite(href, page)
      return target === undefined ? label : `[${label}](${target})`
    },
  )
