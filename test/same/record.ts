/**
 * Writes or compares records of this repository, to prove that a change of the code changes nothing that a user, an operator, an author or
 * a database sees:
 *
 *     node test/same/record.ts <folder> [--commit <commit>]
 *     node test/same/record.ts --compare <folder> <folder>
 *
 * Without a commit, records the current checkout.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { linkCheckout } from '../../scripts/linked-checkout.ts'
import { behaviourRecord } from './behaviour-record.ts'
import { recordProduct, writeRecord } from './product-record.ts'
import { recordDifferences } from './record-differences.ts'
import { type ProductName, productNames } from './recorded-product.ts'

const repository = join(import.meta.dirname, '../..')

/**
 * Writes the record of a checkout.
 *
 * @param folder directory to which the files are written
 * @param names products that are recorded; the behaviour of operations is always recorded
 * @param root directory of the checkout, whose packages are installed
 */
export async function recordCheckout(
  folder: string,
  names: readonly ProductName[] = productNames,
  root = repository,
): Promise<void> {
  for (const name of names) await recordProduct(root, name, join(folder, name))
  writeRecord(folder, await behaviourRecord(root), new Map())
  for (const [language, file] of Object.entries({ en: 'docs/errors.md', 'zh-CN': 'docs/zh-CN/errors.md' }))
    copyFileSync(join(root, file), join(folder, `errors.${language}.txt`))
}

/**
 * Writes the record of a commit.
 *
 * @throws Error if git cannot check out the commit
 */
export async function recordCommit(folder: string, commit: string, names?: readonly ProductName[]): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'plinth-recorded-'))
  try {
    linkCheckout(commit, root)
    await recordCheckout(folder, names, root)
  } finally {
    spawnSync('git', ['worktree', 'remove', '--force', root])
    rmSync(root, { recursive: true, force: true })
  }
}

/** Prints the differences of two records, and returns their number. */
export function printDifferences(before: string, after: string, print: (text: string) => void = console.log): number {
  const differences = recordDifferences(before, after)
  for (const [file, lines] of differences) print([file, ...lines.map((line) => `  ${line}`)].join('\n'))
  const count = [...differences.values()].flat().length
  print(`${count} differences in ${differences.size} files`)
  return count
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    options: { commit: { type: 'string' }, compare: { type: 'boolean' } },
    allowPositionals: true,
  })
  const [folder, other] = positionals.map((path) => resolve(path))
  process.chdir(repository)
  if (folder === undefined || (values.compare === true) !== (other !== undefined)) {
    console.error('Specify a folder for the record, or --compare and two records.')
    process.exitCode = 2
  } else if (other !== undefined) process.exitCode = printDifferences(folder, other) === 0 ? 0 : 1
  else if (values.commit !== undefined) await recordCommit(folder, values.commit)
  else await recordCheckout(folder)
}
