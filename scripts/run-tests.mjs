/**
 * Runs the tests, more processes at a time than there are processors, because many wait for servers; one line per finished
 * file. The first run decides.
 *
 * A few processes run one file after another, as long as there are any: see `shared-process.mjs`. Loading and compiling the
 * house anew for each file, or for each package, is a good part of what tests take. A file has a process of its own when it
 * asks for what belongs to the whole process (`ownProcess`), and with `--alone` each has. What ends a process fails the file
 * that was running; another process goes on.
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
 * `--record` writes it anew. `--jobs=1` runs no two files at a time.
 *
 * The runner of tap is for single files (`npx tap`, see `.taprc`): all files take it about 1.7 times the processor time.
 */
import { spawn } from 'node:child_process'
import {
  chmodSync,
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
import { homeOf, selectedFiles } from './test-files.ts'

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
/**
 * A file that says one of these words has a process of its own, because it asks for what belongs to the whole of it:
 * environment, arguments, signals, exit code, streams, memory and time of the processor, what is loaded, and turns of the event loop.
 */
const ownProcess =
  /(?<![/-])\bprocess\.(?:env|argv|on|once|off|emit|kill|exit|exitCode|chdir|std\w+|memoryUsage|cpuUsage|threadCpuUsage|moduleLoadList|get\w+|report)\b|worker_threads|registerHooks|event-loop-turns|monitorEventLoopDelay|node:v8|node:vm|\bgc\(/
/** Share of the processors that is idle while more files can run, and milliseconds over which it is measured. */
const enoughIdle = 0.1
const idleLookMs = 3_000
/** Files that are printed at the end with what they cost. */
const maxExpensive = 20
/** Of one file, in seconds; then all its processes are ended. Many times what any takes: a busy machine is no failure. */
const timeLimit = 1_200
/** Of a process that has run all its files, in seconds: tests have left something open that keeps it. */
const endLimit = 60
/** More failed files than this are no chance. */
const maxFlaky = 3
/** Failures of one file that are printed, and characters of each. */
const maxPrinted = 10
const maxPrintedLength = 2_000

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
  const directory = mkdtempSync(join(bavail * bsize >= roomInMemory ? memory : tmpdir(), 'plinth-tests-'))
  // Servers that a test starts as another user have their directories below it.
  chmodSync(directory, 0o711)
  return directory
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

/** Seconds of processor of a process that runs and of those that it waited for, which Linux alone tells. */
function cpuSecondsOf(pid) {
  const stat = `/proc/${pid}/stat`
  if (!existsSync(stat)) return 0
  const [, fields] = /^.*\) (.*)$/s.exec(readFileSync(stat, 'utf8'))
  const ticks = fields.split(' ').slice(11, 15)
  return ticks.reduce((sum, value) => sum + Number(value), 0) / 100
}

const newOutcome = (file) => ({ file, passed: 0, failures: [], skipped: [], cpu: 0, wall: 0 })

/**
 * Starts a process that is tested in.
 *
 * @param {string} first file that it runs, which names what it prints
 * @param {string} tested package: see `fast-imports.mjs`
 */
function startProcess(first, [program, words], tested, isBundled) {
  const child = spawn(program, words, {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    // A group of its own, so that nothing that it started outlives it.
    detached: true,
    env: {
      NODE_COMPILE_CACHE: resolve('.tap/compiled'),
      ...process.env,
      NODE_OPTIONS: `${roomy} ${isBundled ? fastImports(tested) : ''} ${process.env.NODE_OPTIONS ?? ''}`.trim(),
      TMPDIR: temporary,
      PLINTH_TEST_TEMPLATES: resolve(templates),
      // The runner has a limit of its own, for each file.
      TAP_TIMEOUT: String(24 * 60 * 60),
    },
  })
  running.add(child)
  const parser = new Parser()
  const output = createWriteStream(join(outputs, `${first.replaceAll('/', '.')}.txt`))
  const reported = { lastWords: '' }
  child.stdout.pipe(parser)
  child.stdout.pipe(output, { end: false })
  child.stderr.pipe(output, { end: false })
  child.stderr.on('data', (bytes) => {
    reported.lastWords = (reported.lastWords + bytes).slice(-maxPrintedLength)
  })
  const parsed = new Promise((complete) => parser.once('complete', complete))
  const closed = new Promise((close) => child.once('close', (...end) => close(end))).then(async ([code, signal]) => {
    running.delete(child)
    output.end()
    const { ok } = await parsed
    return { end: signal ?? code, isGood: code === 0 && ok }
  })
  return { child, parser, reported, closed }
}

/** Kills a process that takes longer than so many seconds, and notes it as a failure. */
function limitOf(child, limit, failures) {
  const kill = () => {
    failures.push(`not done after ${limit} s`)
    process.kill(-child.pid, 'SIGKILL')
  }
  return setTimeout(kill, limit * 1000)
}

/** Runs a file in a process of its own. */
async function runAlone(file, isBundled) {
  const outcome = newOutcome(file)
  const { failures } = outcome
  const begunAt = performance.now()
  const isSeeded = readFileSync(file, 'utf8').includes("'fast-check'")
  const words = [...nodeArguments, ...(isSeeded ? propertyArguments : []), file]
  const { child, parser, reported, closed } = startProcess(
    file,
    command(process.execPath, ...words),
    homeOf(file),
    isBundled,
  )
  collect(parser, outcome)
  parser.on('bailout', (reason) => failures.push(`Bail out! ${reason}`))
  let times = ''
  child.stdio[3].on('data', (bytes) => {
    times += bytes
  })
  const limit = limitOf(child, timeLimit, failures)
  const { end, isGood } = await closed
  clearTimeout(limit)
  if (!isGood && failures.length === 0)
    failures.push(`ended with ${end} although no test failed\n${reported.lastWords}`)
  return Object.assign(outcome, { cpu: cpuSeconds(times), wall: (performance.now() - begunAt) / 1000 })
}

/** A process that runs one file after another. */
class SharedProcess {
  isGone = false
  #process
  #outcome
  #done
  #hasFailed = false

  /** @param {string} first file that it runs */
  constructor(first, isBundled) {
    const words = [...nodeArguments, ...propertyArguments, sharedProcess, String(timeLimit)]
    this.#process = startProcess(first, [process.execPath, words], 'house', isBundled)
    const { child, parser, reported, closed } = this.#process
    // It may be gone when it is told the next file.
    child.stdio[3].on('error', () => {})
    let inner
    parser.on('child', (tests) => {
      inner = collect(tests, this.#outcome)
    })
    parser.on('assert', (result) => {
      const { failures } = this.#outcome
      if (!result.ok && failures.length === 0) failures.push(JSON.stringify(result.diag ?? {}, null, 2))
      else if (result.ok && !inner?.count) failures.push('no test in it')
      inner = undefined
    })
    parser.on('pragma', () => this.#done())
    parser.on('bailout', (reason) => this.#outcome.failures.push(`Bail out! ${reason}`))
    closed.then(({ end, isGood }) => {
      this.isGone = true
      const { failures } = this.#outcome
      if (this.#done !== undefined) failures.push(`ended its process with ${end}\n${reported.lastWords}`)
      else if (!isGood && !this.#hasFailed)
        failures.push(`ended with ${end} although no test failed\n${reported.lastWords}`)
      this.#done?.()
    })
  }

  async run(file) {
    const { child, reported } = this.#process
    const outcome = newOutcome(file)
    this.#outcome = outcome
    reported.lastWords = ''
    const begun = { at: performance.now(), cpu: cpuSecondsOf(child.pid) }
    const limit = limitOf(child, timeLimit, outcome.failures)
    const done = new Promise((resolve) => {
      this.#done = resolve
    })
    child.stdio[3].write(`${file}\n`)
    await done
    this.#done = undefined
    clearTimeout(limit)
    outcome.wall = (performance.now() - begun.at) / 1000
    outcome.cpu = Math.max(0, cpuSecondsOf(child.pid) - begun.cpu)
    this.#hasFailed ||= outcome.failures.length > 0
    return outcome
  }

  /** Ends it. What went wrong after its last file is in the outcome. */
  async end() {
    const outcome = newOutcome(this.#outcome.file)
    this.#outcome = outcome
    const { child, closed } = this.#process
    const limit = limitOf(child, endLimit, outcome.failures)
    child.stdio[3].end()
    await closed
    clearTimeout(limit)
    return outcome
  }
}

const seconds = (value) => value.toFixed(1).padStart(6)

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
 * Runs files, so many at a time, and while a good part of the processors is idle, because those wait for servers or browsers,
 * others beside them, so many again at most.
 */
async function run(files, { jobs, isAlone, isBundled }) {
  const outcomes = []
  const waiting = [...files]
  const added = new Set()
  const processes = []
  const print = (outcome) => {
    outcomes.push(outcome)
    const { file, failures, skipped, cpu, wall } = outcome
    const judgement = failures.length === 0 ? 'ok    ' : 'FAILED'
    const skips = skipped.length > 0 ? `  (${skipped.length} skipped)` : ''
    console.log(
      `${String(outcomes.length).padStart(4)} ${judgement} ${seconds(wall)} s ${seconds(cpu)} s cpu  ${file}${skips}`,
    )
  }
  const runFile = async (file) => {
    if (isAlone || ownProcess.test(readFileSync(file, 'utf8'))) return print(await runAlone(file, isBundled))
    let shared = processes.pop()
    // What it left behind may have ended it since its last file, which has failed by that.
    while (shared?.isGone) shared = processes.pop()
    shared ??= new SharedProcess(file, isBundled)
    print(await shared.run(file))
    if (!shared.isGone) processes.push(shared)
  }
  const work = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) await runFile(file)
  }
  const idleShare = idleShares()
  const timer = setInterval(() => {
    if (idleShare() < enoughIdle || jobs < 2 || added.size >= jobs || waiting.length === 0) return
    const more = runFile(waiting.shift()).finally(() => added.delete(more))
    added.add(more)
  }, idleLookMs)
  await Promise.all(Array.from({ length: jobs }, work))
  clearInterval(timer)
  await Promise.all(added)
  for (const outcome of await Promise.all(processes.map((shared) => shared.end())))
    if (outcome.failures.length > 0) print(outcome)
  // At the end, so that a log that is cut short still ends with what went wrong.
  for (const { file, failures } of outcomes)
    for (const failure of failures.slice(0, maxPrinted)) console.log(`\n${file}: ${failure.slice(0, maxPrintedLength)}`)
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
  for (const { file, cpu, wall } of outcomes.toSorted((a, b) => b.cpu - a.cpu).slice(0, maxExpensive))
    console.log(`${seconds(cpu)} s cpu ${seconds(wall)} s  ${file}`)
}

/**
 * @param {readonly string[]} words test files and folders, or `--changed`; all when there are none; `--record`; `--alone`; `--jobs=4`
 * @returns {Promise<{ passed: number, failed: number, skipped: number }>} good when nothing failed
 */
export async function runTests(words) {
  const isRecorded = words.includes('--record')
  const taken = readRecord()
  const files = selectedFiles(words).sort((a, b) => (taken[b] ?? 0) - (taken[a] ?? 0))
  for (const directory of [outputs, templates]) {
    rmSync(directory, { recursive: true, force: true })
    mkdirSync(directory, { recursive: true })
  }
  const isBundled = bundleLibraries() && (await bundlePackages())
  // Files wait some of their time, for databases and for processes that they start. With two for each processor it is busy;
  // more would take from each file the time that it counts on.
  const jobs = Number(words.find((word) => word.startsWith('--jobs='))?.slice(7) ?? 2 * availableParallelism())
  const outcomes = await run(files, { jobs, isAlone: words.includes('--alone'), isBundled })
  printCosts(outcomes)
  if (isRecorded) writeRecord(outcomes)

  const again = outcomes.filter(({ failures }) => failures.length > 0).map(({ file }) => file)
  if (again.length > 0 && again.length <= maxFlaky) {
    console.log(`\n== for the diagnosis, once more and alone: ${again.join(', ')}`)
    const isUnsteady = (await run(again, { jobs: 1, isAlone: true, isBundled })).every(
      ({ failures }) => failures.length === 0,
    )
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
