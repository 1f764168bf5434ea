/** The pages of `docs/operations/`: their commands are tested, and their links and files exist. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { commandBlocks } from './commands.ts'

const root = join(import.meta.dirname, '..', '..')
const pages = globSync('docs/operations/*.md', { cwd: root })
const read = (file: string) => readFileSync(join(root, file), 'utf8')

t.test('each block of commands is run by a test, or has a reason why not', async (t) => {
  const blocks = commandBlocks()
  t.ok(blocks.length > 10)
  for (const { page, heading, test, reason } of blocks) {
    if (test === undefined) t.match(reason, /^(?:needs|changes|is) /, `${page}, ${heading}`)
    else t.match(read(test), 'commandBlocks()', `${page}, ${heading}: ${test} reads its commands from the page`)
  }
})

/** Anchor of a heading, as GitHub creates it. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

t.test('links and paths lead to files and headings that exist', async (t) => {
  t.ok(pages.length > 3)
  for (const page of pages) {
    const text = read(page)
    for (const [, target = '', anchor] of text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)) {
      const file = target === '' ? page : join(dirname(page), target)
      t.ok(existsSync(join(root, file)), `${page}: ${target}`)
      if (anchor === undefined) continue
      const anchors = [...read(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading))
      t.ok(anchors.includes(anchor), `${page}: ${target}#${anchor}`)
    }
    for (const [, file = ''] of text.matchAll(/`((?:deploy|test|bench|docs|scripts)\/[\w./-]*)`/g))
      t.ok(existsSync(join(root, file)), `${page}: ${file}`)
  }
})
