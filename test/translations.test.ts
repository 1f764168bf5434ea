/**
 * Tests that each page in Chinese has the structure of its English page: headings, blocks of code, rows of tables,
 * names, and links.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import t from 'tap'
import { blocksIn } from './fixtures/document-blocks.ts'

const docs = join(import.meta.dirname, '..', 'docs')
const translated = 'zh-CN'
const pages = globSync('**/*.md', { cwd: join(docs, translated) }).sort()

/** Returns the text of a page without its blocks of code. */
const proseOf = (page: string) => readFileSync(join(docs, page), 'utf8').replaceAll(/^ *```[\s\S]*?^ *```$/gm, '')

const blocksOf = (page: string) => blocksIn(`docs/${page}`).map(({ page: _, heading, ...block }) => block)

const headingsOf = (page: string) => proseOf(page).match(/^#+(?= )/gm) ?? []

const rowsOf = (page: string) => proseOf(page).match(/^ *\|/gm)?.length ?? 0

/** Returns the names in backticks, such as keys, codes and commands. */
const namesOf = (page: string) =>
  [
    ...new Set(
      [
        ...proseOf(page)
          .replaceAll(/\n */g, ' ')
          .matchAll(/(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)/g),
      ].map(([, , name]) => name),
    ),
  ].sort()

/** Returns the targets of the links, as paths in `docs/` without the folder of the language and without anchors. */
const linksOf = (page: string) =>
  [...proseOf(page).matchAll(/\]\(([^)\s]+)\)|<(https?:[^>]+)>/g)]
    .map(([, link = '', address = link]) => address)
    .filter((address) => !address.startsWith('#'))
    .map((address) => {
      if (/^[a-z]+:/.test(address)) return address
      const path = normalize(join(dirname(page), address.replace(/#.*$/, '')))
      return path.replace(/^zh-CN\//, '').replace('.zh-CN.md', '.md')
    })
    .sort()

t.test('each page in Chinese has an English page with the same structure', (t) => {
  t.ok(pages.length > 10)
  for (const page of pages) {
    const chinese = join(translated, page)
    if (!existsSync(join(docs, page))) t.fail(`${page} has no English page`)
    else {
      t.same(blocksOf(chinese), blocksOf(page), `${page}: blocks of code`)
      t.same(headingsOf(chinese), headingsOf(page), `${page}: headings`)
      t.equal(rowsOf(chinese), rowsOf(page), `${page}: rows of tables`)
      t.same(namesOf(chinese), namesOf(page), `${page}: names in backticks`)
      t.same(linksOf(chinese), linksOf(page), `${page}: links`)
    }
  }
  t.end()
})

t.test('headings are in Chinese, and links lead to the page in Chinese if there is one', (t) => {
  for (const page of pages) {
    const chinese = join(translated, page)
    for (const [heading] of proseOf(chinese).matchAll(/^#+ .+$/gm)) {
      t.match(
        heading,
        /\p{Script=Han}|^# Plinth$|^#+ `|^#+ Web3$|^#+ HTTP$|^#+ (?:plinth [a-z -]+|PLINTH_\w+|[a-z\d./-]+)$/u,
        `${page}: ${heading}`,
      )
    }
    for (const [, link = ''] of proseOf(chinese).matchAll(/\]\(([^)\s#]+)/g)) {
      if (/^[a-z]+:/.test(link)) continue
      const target = join(docs, dirname(chinese), link)
      t.ok(existsSync(target), `${page}: ${link}`)
      const path = relative(docs, target)
      if (!path.startsWith(translated)) t.notOk(pages.includes(path), `${page}: ${link} has a page in Chinese`)
    }
  }
  t.end()
})
