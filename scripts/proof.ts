/**
 * Program of `npm run proof`: runs the proofs with the given names, or all proofs. `--list` prints the table of the proofs. The last
 * line contains the counts.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { addCounts, type Counts, lastLine, runTests } from './count-tests.ts'
import { type Proof, proofs } from './proofs.ts'

/**
 * Runs a proof in a checkout.
 *
 * @param root directory of the checkout
 * @param limitMs the proof is stopped after this time, and has then failed
 * @param maxDatabases the proof runs on this number of its databases
 */
export async function runProof(
  name: string,
  root = '.',
  limitMs = Number.POSITIVE_INFINITY,
  maxDatabases = Number.POSITIVE_INFINITY,
): Promise<Counts> {
  const { files, databases } = proofs[name] as Proof
  const end = performance.now() + limitMs
  /** Files of `npm test` run their longer form, because of `PLINTH_TEST_PROOF`. */
  const run = (env: Readonly<Record<string, string>> = {}) =>
    runTests(files, {
      cwd: root,
      env: { PLINTH_TEST_PROOF: '1', ...env },
      limitMs: end - performance.now(),
    })
  console.log(`\n== proof ${name}`)
  return databases === undefined ? run() : runOnDatabases(databases.slice(0, maxDatabases), run)
}

/**
 * Runs the tests on each database. If these are both servers, then checks the statements of each on the other one. After a run on one
 * database, it is not known which places have a text for each dialect.
 */
async function runOnDatabases(
  databases: readonly string[],
  run: (env: Readonly<Record<string, string>>) => Promise<Counts>,
): Promise<Counts> {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-statements-'))
  const total = { passed: 0, failed: 0, skipped: 0 }
  for (const database of databases) {
    console.log(`\n== on ${database}`)
    addCounts(
      total,
      await run({ PLINTH_TEST_DATABASE: database, PLINTH_TEST_PROOF: '', PLINTH_TEST_STATEMENTS: folder }),
    )
  }
  if (databases.length > 1) {
    console.log('\n== statements')
    const { checkStatements } = await import('./statements.ts')
    addCounts(total, await checkStatements(folder))
  }
  rmSync(folder, { recursive: true })
  return total
}

function list() {
  for (const [name, { proves, minutes, paths }] of Object.entries(proofs)) {
    console.log(`${name.padEnd(12)} ${String(minutes).padStart(2)} min  ${proves}`)
    console.log(`${' '.repeat(21)}${paths.join('  ')}`)
  }
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({ options: { list: { type: 'boolean' } }, allowPositionals: true })
  const unknown = positionals.filter((name) => !Object.hasOwn(proofs, name))
  if (values.list) list()
  else if (unknown.length > 0) {
    console.error(`Unknown proof: ${unknown.join(', ')}. The proofs are ${Object.keys(proofs).join(', ')}.`)
    process.exitCode = 1
  } else {
    const total = { passed: 0, failed: 0, skipped: 0 }
    for (const name of positionals.length > 0 ? positionals : Object.keys(proofs)) {
      addCounts(total, await runProof(name))
    }
    console.log(lastLine(total))
    process.exitCode = total.failed === 0 ? 0 : 1
  }
}
