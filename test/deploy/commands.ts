/** Blocks of commands in `docs/operations/`, each with the test that runs them or the reason why no test can. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')

export interface CommandBlock {
  /** Path from the root of the repository. */
  readonly page: string
  /** Heading above the block. */
  readonly heading: string
  /** Test that runs the commands, a path from the root of the repository. */
  readonly test?: string
  /** Reason why no test can run them. */
  readonly reason?: string
  readonly text: string
}

/** @throws Error for a block of commands without a comment */
export function commandBlocks(): CommandBlock[] {
  return globSync('docs/operations/*.md', { cwd: root })
    .sort()
    .flatMap((page) => blocksOf(page, readFileSync(join(root, page), 'utf8')))
}

function blocksOf(page: string, markdown: string): CommandBlock[] {
  const parts =
    /^#+ (?<heading>.+)$|(?:^ *<!-- (?<comment>.+) -->\n)?^ *```(?:sh|bash|console)\n(?<text>[\s\S]*?)^ *```$/gm
  let heading = ''
  const blocks: CommandBlock[] = []
  for (const { groups } of markdown.matchAll(parts)) {
    if (groups?.['heading'] !== undefined) {
      heading = groups['heading']
      continue
    }
    const [, kind, value = ''] = /^(run by|not run:) (.+)$/.exec(groups?.['comment'] ?? '') ?? []
    if (kind === undefined) throw new Error(`${page}, ${heading}: commands without "run by" or "not run:"`)
    const text = groups?.['text'] ?? ''
    blocks.push({ page, heading, text, ...(kind === 'run by' ? { test: value } : { reason: value }) })
  }
  return blocks
}
