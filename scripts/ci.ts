/**
 * Program of `.ci/run`: runs `npm test` on PostgreSQL, then the proofs that the change concerns, then a group of the other proofs, which
 * depends on the day. It ends after 45 minutes at most. The last line contains the counts.
 *
 * A proof that concerns the change counts. A proof of the day only reports: the change did not cause its result. Without history, no
 * proof concerns the change.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { baseOfChange, changedPaths, concernedProofs } from './changed-paths.ts'
import { addCounts, type Counts, lastLine } from './count-tests.ts'
import { linkCheckout } from './linked-checkout.ts'
import { runProof } from './proof.ts'
import { groupCount, proofs } from './proofs.ts'

const minuteMs = 60_000
const beginning = performance.now()
const limits = { concerned: 25 * minuteMs, day: 40 * minuteMs, end: 44 * minuteMs }
const elapsedMs = () => performance.now() - beginning
const typicalMs = (name: string) => (proofs[name]?.minutes ?? 0) * minuteMs
/** Typical duration in milliseconds on one of the databases of the proof. */
const gateMs = (name: string) => typicalMs(name) / (proofs[name]?.databases?.length ?? 1)

/** One line per failure of `npm test`. They are printed again at the end, because the output of the proofs is long. */
const failures: string[] = []

/** Runs `npm test` and returns its counts. Its last line is printed by this program, at the end. */
async function runTests(): Promise<Counts> {
  const child = spawn('npm', ['test'], {
    env: { ...process.env, PLINTH_TEST_DATABASE: 'postgresql' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  let last = ''
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith('FAILED: ')) failures.push(line)
    last = line
    console.log(line)
  }
  const [exitCode] = await closed
  const [, passed = 0, failed = 0, skipped = 0] = /^(\d+) passed, (\d+) failed, (\d+) skipped$/.exec(last) ?? []
  const isCounted = exitCode === 0 || Number(failed) > 0
  return { passed: Number(passed), failed: isCounted ? Number(failed) : 1, skipped: Number(skipped) }
}

const total = await runTests()
const base = baseOfChange()
const paths = base === undefined ? [] : changedPaths(base)
const concerned = concernedProofs(paths)
const group = Math.floor(Date.now() / 86_400_000) % groupCount
const rotated = Object.keys(proofs).toSorted((one, other) => rankOf(one) - rankOf(other))
/** Proofs of the day's group come first. */
function rankOf(name: string) {
  return ((proofs[name]?.group ?? 0) - group + groupCount) % groupCount
}
console.log(`\n== proofs: ${paths.length} changed paths since ${base ?? 'an unknown commit'}`)
console.log(`they concern: ${concerned.join(', ') || 'no proof'}; group of the day: ${group}`)

const results: string[] = []
const remaining = new Set(rotated)
const concernedEnd = elapsedMs() + limits.concerned

for (const name of rotated.filter((one) => concerned.includes(one))) {
  if (elapsedMs() + gateMs(name) > Math.min(concernedEnd, limits.day)) continue
  remaining.delete(name)
  const counts = await runProof(name, '.', limits.end - elapsedMs(), 1)
  addCounts(total, counts)
  results.push(`${name}: ${counts.failed === 0 ? 'passed' : 'FAILED'} (concerns the change)`)
}
for (const name of [...remaining].filter((one) => base === undefined || proofs[one]?.group === group)) {
  if (elapsedMs() + typicalMs(name) > limits.day) continue
  remaining.delete(name)
  const { failed } = await runProof(name, '.', limits.end - elapsedMs())
  const result = failed === 0 ? 'passed' : concerned.includes(name) ? 'FAILED' : await compareWithBase(name)
  if (concerned.includes(name)) total.failed += failed
  results.push(`${name}: ${result} (group of the day)`)
}

/** Runs a failed proof on the base of the change, if the time allows. */
async function compareWithBase(name: string): Promise<string> {
  if (base === undefined || elapsedMs() + typicalMs(name) > limits.day) return 'FAILED, not compared with the base'
  const root = mkdtempSync(join(tmpdir(), 'plinth-base-'))
  try {
    linkCheckout(base, root)
    const { failed } = await runProof(name, root, limits.end - elapsedMs())
    return failed === 0 ? 'FAILED: new' : 'FAILED: failed before'
  } finally {
    spawnSync('git', ['worktree', 'remove', '--force', root])
    rmSync(root, { recursive: true, force: true })
  }
}

for (const line of failures) console.log(line)
console.log('\n== proofs')
for (const line of results) console.log(line)
if (remaining.size > 0) console.log(`not run: ${[...remaining].join(', ')}`)
console.log(`${Math.ceil(elapsedMs() / minuteMs)} minutes`)
console.log(lastLine(total))
process.exitCode = total.failed === 0 ? 0 : 1
