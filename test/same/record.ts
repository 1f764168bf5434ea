/**
 * Writes or compares records of this repository, to prove that a change of the code changes nothing that a user, an operator, an author or
 * a database sees:
 *
 *     node test/same/record.ts <folder> [--commit <commit>]
 *     node test/same/record.ts --compare <folder> <folder>
 *
 * Without a commit, records the current checkout. A record is a directory with JSON and text files.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { linkCheckout } from '../../scripts/linked-checkout.ts'
import { recordBehaviour } from './behaviour-record.ts'
import { recordProduct } from './product-record.ts'
import { type ProductName, productNames, RecordedProduct } from './recorded-product.ts'

const repository = join(import.meta.dirname, '../..')

/**
 * Writes the record of a checkout.
 *
 * @param names products that are recorded; the behaviour of operations is always recorded
 * @param root directory of the checkout, whose packages are installed
 */
export async function recordCheckout(
  folder: string,
  names: readonly ProductName[] = productNames,
  root = repository,
): Promise<void> {
  const record = async (name: ProductName, to: string, work: (product: RecordedProduct) => Promise<void>) => {
    const product = new RecordedProduct(root, name, to)
    try {
      await work(product)
    } finally {
      await product.remove()
    }
  }
  for (const name of names) await record(name, join(folder, name), recordProduct)
  await record('quickstart', folder, recordBehaviour)
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

/** Returns the differences of two records as Git prints them; an empty text if they are equal. */
export function recordDifferences(before: string, after: string): string {
  const words = ['diff', '--no-index', '--no-color', before, after]
  const { status, stdout, stderr } = spawnSync('git', words, { encoding: 'utf8', maxBuffer: 2 ** 30 })
  if (status !== 0 && stdout === '') throw new Error(`git cannot compare ${before} and ${after}: ${stderr}`)
  return stdout
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
  } else if (other !== undefined) {
    const differences = recordDifferences(folder, other)
    console.log(differences || 'The records are equal.')
    process.exitCode = differences === '' ? 0 : 1
  } else if (values.commit !== undefined) await recordCommit(folder, values.commit)
  else await recordCheckout(folder)
}
