/**
 * Runs the tests, more processes at a time than there are processors, because many wait for servers; one line per finished
 * file. The first run decides.
 *
 * Files of one package share a process, one after another: see `shared-process.mjs`. Loading and compiling the house anew
 * for each file is two fifths of what tests of products take. A file has a process of its own when it asks for what belongs
 * to the whole process (`ownProcess`), and with `--alone` each has. What ends a process fails the file that was running; the
 * next one continues with those behind it.
 *
 * Files that failed run once more, each alone, for the diagnosis only: what passes then is named unsteady, and the run has
 * failed all the same. What files printed lies in `.tap/output`, by the first file of their process.
 *
 * A test that is skipped because something is missing on the machine (its reason begins with "no ") fails the run when what
 * is missing is a server that accepts connections, and with `PLINTH_TEST_MACHINE=complete` whatever is missing.
 *
 * Property tests have the same seed in every run: see `property-seed.mjs`.
 *
 * The longest begin first, so that none runs alone at the end. How long they take stands in `scripts/test-seconds.json`;
 * `--record` writes it anew.
 *
 * The runner of tap is not used: what it loads into each process, and into all that these start, is half of their time. It is
 * not installed either: `overrides` of the manifest put nothing in its place, nor in that of icons as files, which nobody reads.
 */
import { spawn } from 'node:child_process'
import {
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Parser } from 'tap-parser'
import { bundleLibraries } from './library-bundle.mjs'
import { bundlePackages } from './package-bundle.mjs'
import { testFiles } from './test-files.ts'

const outputs = '.tap/output'
/** Migrated databases that the files of one run share: see `startMigrated`. */
const templates = '.tap/templates'
/**
 * Where tests put what is temporary: in memory, where there is room. A disk takes far longer to make files while others were
 * just removed, and a run makes and removes tens of thousands.
 */
const memory = '/dev/shm'
const roomInMemory = 4 * 1024 ** 3
/** Seconds that files took when they were last recorded, without the short ones. */
const record = new URL('test-seconds.json', import.meta.url)
const shortest = 8
/** What a file takes that the record does not name, in seconds. */
const unrecorded = 4
/** Files share a process up to so many recorded seconds: more would save little, and end late. */
const mostShared = 80
/**
 * A file that says one of these words has a process of its own, because it asks for what belongs to the whole of it:
 * environment, arguments, signals, exit code, streams, memory and time of the processor, what is loaded, and turns of the event loop.
 */
const ownProcess =
  /(?<![/-])\bprocess\.(?:env|argv|on|once|off|emit|kill|exit|exitCode|chdir|std\w+|memoryUsage|cpuUsage|threadCpuUsage|moduleLoadList|get\w+|report)\b|worker_threads|registerHooks|event-loop-turns|monitorEventLoopDelay|node:v8|node:vm|\bgc\(/
/** Share of the processors that is idle while more files can run, and milliseconds over which it is measured. */
const enoughIdle = 0.15
const idleLookMs = 3_000
/** Files that are printed at the end with what they cost. */
const mostExpensive = 20
/** Of one file, in seconds; then all its processes are ended. Many times what any takes: a busy machine is no failure. */
const timeLimit = 1_200
/** More failed files than this are no chance. */
const mostUnsteady = 3
/** Failures of one file that are printed, and characters of each. */
const mostPrinted = 10
const longestPrinted = 2_000

/** Servers that tests use: how reasons to skip name them, and their ports. */
const servers = [
  { name: /\bpostgresql\b/i, port: 5432 },
  { name: /\b(mariadb|mysql)\b/i, port: 3306 },
  { name: /\bRedis on\b/i, port: 6379 },
]

/** Sorts what a test reports into `outcome`. A test that holds others is counted by those, unless it failed by itself. */
function collect(parser, outcome) {
  const own = { count: 0, failed: 0 }
  let inner
  parser.on('child', (child) => {
    inner = collect(child, outcome)
  })
  parser.on('assert', (result) => {
    const held = inner
    inner = undefined
    own.count += 1
    own.failed += result.ok ? 0 : 1
    if (held !== undefined && held.count > 0 && (result.ok || held.failed > 0)) return
    // In a shared process the file is a test that holds the others.
    const name = result.fullname.replace(`${outcome.file} > `, '')
    if (result.skip || result.todo) outcome.skipped.push({ file: outcome.file, name, reason: String(result.skip) })
    else if (result.ok) outcome.passed += 1
    else outcome.failures.push(`${name}\n${JSON.stringify(result.diag ?? {}, null, 2)}`)
  })
  return own
}

function temporaryDirectory() {
  const { bavail = 0, bsize = 0 } = existsSync(memory) ? statfsSync(memory) : {}
  return mkdtempSync(join(bavail * bsize >= roomInMemory ? memory : tmpdir(), 'plinth-tests-'))
}

const temporary = temporaryDirectory()
const running = new Set()
const endAll = () => {
  for (const { pid } of running) {
    try {
      process.kill(-pid, 'SIGKILL')
    } catch {}
  }
  rmSync(temporary, { recursive: true, force: true })
}
process.once('exit', endAll)
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))

/** The shell tells what the file and all processes that it waited for took of the processor, which Node.js cannot. */
const measured = '"$@" 3>&-; code=$?; times >&3; exit $code'
/** More room for what lives briefly: the garbage of a start is collected less often. For processes that a test starts too. */
const roomy = '--max-semi-space-size=32'
const nodeArguments = [roomy, '--import', new URL('lean-tap.mjs', import.meta.url).href]
/** For the processes that a test file starts too. */
const fastImports = (home) => `--import=${new URL(`fast-imports.mjs?tested=${home}`, import.meta.url).href}`
const sharedProcess = fileURLToPath(new URL('shared-process.mjs', import.meta.url))
const propertyArguments = ['--import', new URL('property-seed.mjs', import.meta.url).href]
const command = (...words) =>
  process.platform === 'win32' ? [words[0], words.slice(1)] : ['/bin/sh', ['-c', measured, 'sh', ...words]]

/** Seconds from the last line that `times` prints: `0m1.230000s 0m0.450000s`, user and system. */
function cpuSeconds(times) {
  const parts = [...(times.trimEnd().split('\n').at(-1) ?? '').matchAll(/(\d+)m([\d.]+)s/g)]
  return parts.reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds), 0)
}

const newOutcome = (file) => ({ file, passed: 0, failures: [], skipped: [], cpu: 0, wall: 0 })
const outputOf = (file, end = 'txt') => join(outputs, `${file.replaceAll('/', '.')}.${end}`)

/** What a shared process noted: files that were begun, and what they took. */
function notesOf(journal) {
  const lines = existsSync(journal) ? readFileSync(journal, 'utf8').trimEnd().split('\n') : []
  return lines.map((line) => JSON.parse(line))
}

/**
 * Runs files in one process, until all are done or it ends.
 *
 * @param {(outcome: object) => void} done hears of each file that was run, in order
 * @returns {Promise<readonly string[]>} files that were not begun
 */
async function runFiles(files, isBundled, done) {
  const [first] = files
  const isShared = files.length > 1
  const outcomes = files.map(newOutcome)
  const begunAt = performance.now()
  const output = createWriteStream(outputOf(first))
  const isSeeded = files.some((file) => readFileSync(file, 'utf8').includes("'fast-check'"))
  const journal = outputOf(first, 'journal')
  rmSync(journal, { force: true })
  const words = isShared ? [sharedProcess, String(timeLimit), journal, ...files] : [first]
  const child = spawn(
    ...command(process.execPath, ...nodeArguments, ...(isSeeded ? propertyArguments : []), ...words),
    {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      // A group of its own, so that nothing that it started outlives it.
      detached: true,
      env: {
        NODE_COMPILE_CACHE: resolve('.tap/compiled'),
        ...process.env,
        NODE_OPTIONS:
          `${roomy} ${isBundled ? fastImports(homeOf(first)) : ''} ${process.env.NODE_OPTIONS ?? ''}`.trim(),
        TMPDIR: temporary,
        PLINTH_TEST_TEMPLATES: resolve(templates),
        TAP_TIMEOUT: String(timeLimit * files.length),
      },
    },
  )
  running.add(child)
  const parser = new Parser()
  let at = 0
  if (isShared) {
    let inner
    parser.on('child', (tests) => {
      at = files.indexOf(tests.name)
      inner = collect(tests, outcomes[at])
    })
    parser.on('assert', (result) => {
      const { failures } = outcomes[at]
      if (!result.ok && failures.length === 0) failures.push(JSON.stringify(result.diag ?? {}, null, 2))
      else if (result.ok && !inner?.count) failures.push('no test in it')
      inner = undefined
      limit.refresh()
    })
  } else collect(parser, outcomes[0])
  parser.on('bailout', (reason) => outcomes[at].failures.push(`Bail out! ${reason}`))
  const parsed = new Promise((complete) => parser.once('complete', complete))
  child.stdout.pipe(parser)
  child.stdout.pipe(output, { end: false })
  child.stderr.pipe(output, { end: false })
  let lastWords = ''
  child.stderr.on('data', (bytes) => {
    lastWords = (lastWords + bytes).slice(-longestPrinted)
  })
  let times = ''
  child.stdio[3].on('data', (bytes) => {
    times += bytes
  })
  let isLate = false
  const limit = setTimeout(
    () => {
      isLate = true
      process.kill(-child.pid, 'SIGKILL')
    },
    (timeLimit + 10) * 1000,
  )
  const [code, signal] = await new Promise((closed) => child.once('close', (...end) => closed(end)))
  clearTimeout(limit)
  running.delete(child)
  output.end()
  const { ok } = await parsed
  const notes = notesOf(journal)
  const begun = outcomes.slice(0, Math.max(1, notes.filter((note) => note.begun).length))
  // What ended the process, or kept it from its end, is in the file that was begun last.
  const { failures } = begun.at(-1)
  if (isLate) failures.push(`not done after ${timeLimit} s`)
  else if (begun.length < files.length) failures.push(`ended its process with ${signal ?? code}\n${lastWords}`)
  else if ((code !== 0 || !ok) && begun.every((outcome) => outcome.failures.length === 0))
    failures.push(`ended with ${signal ?? code} although no test failed\n${lastWords}`)
  const rest = { cpu: cpuSeconds(times), wall: (performance.now() - begunAt) / 1000 }
  for (const { done: file, cpu, wall } of notes.filter((note) => note.done)) {
    Object.assign(outcomes[files.indexOf(file)], { cpu, wall })
    rest.cpu -= cpu
    rest.wall -= wall
  }
  // Start and end of the process are part of what the first one takes, unless another did not end.
  const payer = begun.find(({ wall }) => wall === 0) ?? begun[0]
  payer.cpu += rest.cpu
  payer.wall += rest.wall
  for (const outcome of begun) done(outcome)
  return files.slice(begun.length)
}

const seconds = (value) => value.toFixed(1).padStart(6)

/** The plugin that a file belongs to, or the folder of the house: what is loaded is much the same for all of one. */
const homeOf = (file) => /^(?:plugins\/)?[^/]+(?=\/)/.exec(file)?.[0]

/**
 * Lists of files that share a process, the longest first.
 *
 * @param {Record<string, number>} taken seconds that files took
 */
function shared(files, taken) {
  const lists = []
  const open = new Map()
  const secondsOf = (file) => taken[file] ?? unrecorded
  for (const file of files) {
    const home = homeOf(file)
    const list = open.get(home)
    if (ownProcess.test(readFileSync(file, 'utf8'))) lists.push({ files: [file], seconds: secondsOf(file) })
    else if (list !== undefined && list.seconds + secondsOf(file) <= mostShared) {
      list.files.push(file)
      list.seconds += secondsOf(file)
    } else {
      const begun = { files: [file], seconds: secondsOf(file) }
      lists.push(begun)
      open.set(home, begun)
    }
  }
  return lists.sort((a, b) => b.seconds - a.seconds).map((list) => list.files)
}

/** Tells which share of the processors nobody used since the last call. */
function idleShares() {
  const read = () => {
    const times = cpus().map(({ times }) => times)
    const sum = (of) => times.reduce((total, time) => total + of(time), 0)
    return {
      idle: sum(({ idle }) => idle),
      all: sum(({ user, nice, sys, irq, idle }) => user + nice + sys + irq + idle),
    }
  }
  let before = read()
  return () => {
    const now = read()
    const share = (now.idle - before.idle) / Math.max(1, now.all - before.all)
    before = now
    return share
  }
}

/**
 * Runs lists of files, so many at a time, and while a good part of the processors is idle, because those wait for servers or
 * browsers, others beside them: each of these at most one list, so that the machine is not busier than before for long.
 */
async function run(lists, jobs, isBundled) {
  const outcomes = []
  const waiting = [...lists]
  const added = new Set()
  const print = (outcome) => {
    outcomes.push(outcome)
    const { file, failures, skipped, cpu, wall } = outcome
    const verdict = failures.length === 0 ? 'ok    ' : 'FAILED'
    const skips = skipped.length > 0 ? `  (${skipped.length} skipped)` : ''
    console.log(
      `${String(outcomes.length).padStart(4)} ${verdict} ${seconds(wall)} s ${seconds(cpu)} s cpu  ${file}${skips}`,
    )
  }
  const runList = async (files) => {
    for (let left = files; left.length > 0; ) left = await runFiles(left, isBundled, print)
  }
  const work = async () => {
    for (let files = waiting.shift(); files !== undefined; files = waiting.shift()) await runList(files)
  }
  const idleShare = idleShares()
  const timer = setInterval(() => {
    if (idleShare() < enoughIdle || jobs < 2 || added.size >= jobs || waiting.length === 0) return
    const more = runList(waiting.shift()).finally(() => added.delete(more))
    added.add(more)
  }, idleLookMs)
  await Promise.all(Array.from({ length: jobs }, work))
  clearInterval(timer)
  await Promise.all(added)
  // At the end, so that a log that is cut short still ends with what went wrong.
  for (const { file, failures } of outcomes)
    for (const failure of failures.slice(0, mostPrinted)) console.log(`\n${file}: ${failure.slice(0, longestPrinted)}`)
  return outcomes
}

const accepts = (port) =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: 5_000 })
    const end = (isThere) => () => {
      socket.destroy()
      resolve(isThere)
    }
    socket.once('connect', end(true)).once('error', end(false)).once('timeout', end(false))
  })

/** Skipped tests that nothing excuses. */
async function wrongSkips(skips) {
  const missing = skips.filter(({ reason }) => reason.startsWith('no '))
  if (process.env.PLINTH_TEST_MACHINE === 'complete') return missing
  const there = []
  for (const { name, port } of servers) if (await accepts(port)) there.push(name)
  return missing.filter(({ reason }) => there.some((name) => name.test(reason)))
}

const readRecord = () => JSON.parse(readFileSync(record, 'utf8'))

function writeRecord(outcomes) {
  const long = outcomes.filter(({ wall }) => wall > shortest).sort((a, b) => b.wall - a.wall)
  const taken = Object.fromEntries(long.map(({ file, wall }) => [file, Math.round(wall)]))
  writeFileSync(record, `${JSON.stringify(taken, null, 2)}\n`)
}

function printCosts(outcomes) {
  const sum = (of) => outcomes.reduce((total, outcome) => total + outcome[of], 0).toFixed(0)
  console.log(`\n${outcomes.length} files: ${sum('cpu')} s of processor, ${sum('wall')} s of time. The most expensive:`)
  for (const { file, cpu, wall } of outcomes.toSorted((a, b) => b.cpu - a.cpu).slice(0, mostExpensive))
    console.log(`${seconds(cpu)} s cpu ${seconds(wall)} s  ${file}`)
}

/**
 * @param {readonly string[]} words test files; all when there are none; `--record`; `--alone`
 * @returns {Promise<{ passed: number, failed: number, skipped: number }>} good when nothing failed
 */
export async function runTests(words) {
  const isRecorded = words.includes('--record')
  const named = words.filter((word) => !word.startsWith('--'))
  const taken = readRecord()
  const files = (named.length > 0 ? [...named] : testFiles()).sort((a, b) => (taken[b] ?? 0) - (taken[a] ?? 0))
  for (const directory of [outputs, templates]) {
    rmSync(directory, { recursive: true, force: true })
    mkdirSync(directory, { recursive: true })
  }
  const isBundled = bundleLibraries() && (await bundlePackages())
  // Files wait some of their time, for databases and for processes that they start. With two for each processor it is busy;
  // more would take from each file the time that it counts on.
  const each = files.map((file) => [file])
  const lists = words.includes('--alone') ? each : shared(files, taken)
  const outcomes = await run(lists, 2 * availableParallelism(), isBundled)
  printCosts(outcomes)
  if (isRecorded) writeRecord(outcomes)

  const again = outcomes.filter(({ failures }) => failures.length > 0).map(({ file }) => file)
  if (again.length > 0 && again.length <= mostUnsteady) {
    console.log(`\n== for the diagnosis, once more and alone: ${again.join(', ')}`)
    const isUnsteady = (
      await run(
        again.map((file) => [file]),
        1,
        isBundled,
      )
    ).every(({ failures }) => failures.length === 0)
    console.log(isUnsteady ? `\nUnsteady, to be mended: ${again.join(', ')}` : '\nFailed again.')
  }

  const skips = outcomes.flatMap(({ skipped }) => skipped)
  for (const [reason, { length }] of Map.groupBy(skips, ({ reason }) => reason))
    console.log(`skipped ${length}: ${reason || 'without a reason'}`)
  const wrong = await wrongSkips(skips)
  for (const { file, name, reason } of wrong) console.log(`MUST NOT BE SKIPPED ${file}: ${name} (${reason})`)

  const passed = outcomes.reduce((sum, outcome) => sum + outcome.passed, 0)
  const failed = outcomes.reduce((sum, { failures }) => sum + failures.length, 0) + wrong.length
  // A run that counted nothing is a failure too.
  return { passed, skipped: skips.length, failed: passed === 0 ? Math.max(failed, 1) : failed }
}

export const lastLine = ({ passed, failed, skipped }) => `\n${passed} passed, ${failed} failed, ${skipped} skipped`

if (import.meta.main) {
  const result = await runTests(process.argv.slice(2))
  console.log(lastLine(result))
  process.exit(result.failed === 0 ? 0 : 1)
}
