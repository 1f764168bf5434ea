import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  assertMembers,
  manualClock,
  programEnvironment,
  rejectsWith,
  startForTest,
  watchProcess,
} from '@plinth/dev/testing'
import t, { type Test } from 'tap'
import { runSupervised } from '../src/cli/supervisor.ts'
import { parseServingCommand } from '../src/cli/supervisor-link.ts'
import greeterProduct from './fixtures/greeter.config.ts'
import { productOf } from './sample-plugin.ts'

const program = join(import.meta.dirname, '..', 'bin', 'plinth.js')
const fragile = join(import.meta.dirname, 'fixtures', 'fragile.config.ts')
const greeter = join(import.meta.dirname, 'fixtures', 'greeter.config.ts')

interface Greeting {
  readonly greeting: string
  readonly supervised: string
  readonly pid: number
}

/** Runs `plinth start` in a child process, with a `.env` that the test may change. */
function started(t: Test, words: readonly string[] = [], problem = 'none', product = greeter, input?: string) {
  const directory = t.testdir({ '.env': product === greeter ? 'PLATFORM_GREETER_GREETING=Hello\n' : '' })
  const settings = ['--settings-file', join(directory, '.env'), '--set', 'platform.log.format=json']
  const problems = product === greeter ? ['--set', `platform.greeter.fault=${problem}`] : []
  const all = [...settings, '--product', product, 'start', ...words, ...problems]
  const child: ChildProcess = spawn(process.execPath, [program, ...all], {
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    env: programEnvironment(),
  })
  child.stdin?.end(input)
  const watched = watchProcess(t, child)
  const { output } = watched
  // Standard output is closed when the last process that uses it has ended, including the child process of the
  // supervisor.
  const ended = async () => {
    const [code, signal] = await watched.ended()
    return { code, signal, output: output() }
  }
  /** Returns the address that the product prints at its nth start. */
  const opened = (count: number) =>
    watched.until(() => {
      const ports = [...output().matchAll(/"port":(\d+)/g)].map(([, port]) => port)
      const isReady = output().split('"started"').length > count
      return ports.length >= count && isReady ? `http://127.0.0.1:${ports[count - 1]}` : undefined
    }, `start ${count}`)
  const said = (text: string) => watched.until(() => output().includes(text), text)
  return { child, ended, opened, said, settingsFile: join(directory, '.env') }
}

const ask = async (url: string): Promise<Greeting> => (await fetch(url)).json() as Promise<Greeting>
const messages = (output: string) => {
  const lines = output.split('\n').filter((line) => line.startsWith('{'))
  // On a busy host the log also contains lines about phases that are still running.
  return lines.map((line) => JSON.parse(line).msg).filter((msg) => !msg.startsWith('still in '))
}

t.test('K-018 a restart drains, stops and comes back with the new configuration', async (t) => {
  const { child, ended, opened, settingsFile } = started(t)
  const first = await opened(1)
  const before = await ask(first)
  t.match(before, { greeting: 'Hello', supervised: 'plinth' })
  t.not(before.pid, child.pid, 'the product has a process of its own')
  writeFileSync(settingsFile, 'PLATFORM_GREETER_GREETING=Servus\n')
  await ask(`${first}/restart`)
  const second = await opened(2)
  const after = await ask(second)
  t.match(after, { greeting: 'Servus', supervised: 'plinth' })
  t.not(after.pid, before.pid)
  child.kill('SIGTERM')
  const { code, signal, output } = await ended()
  t.strictSame([code, signal], [0, null])
  t.strictSame(messages(output), [
    'settings file read',
    'open',
    'started',
    'restart requested',
    'stopping',
    'draining',
    'closed',
    'settings file read',
    'open',
    'started',
    'stopping',
    'draining',
    'closed',
  ])
  t.match(output, '"reason":"SIGTERM received","msg":"stopping"')
})

t.test('K-018 a value from standard input applies to every start', async (t) => {
  const words = ['--set', 'platform.greeter.greeting=-']
  const { child, ended, opened } = started(t, words, 'none', greeter, 'Grüezi\n')
  const first = await opened(1)
  t.match(await ask(first), { greeting: 'Grüezi', supervised: 'plinth' })
  await ask(`${first}/restart`)
  t.match(await ask(await opened(2)), { greeting: 'Grüezi' })
  child.kill('SIGTERM')
  t.match(await ended(), { code: 0 })
})

t.test('K-018 kill -9 of the supervisor lets the product drain and stop', async (t) => {
  const { child, ended, opened } = started(t)
  await opened(1)
  child.kill('SIGKILL')
  const { signal, output } = await ended()
  t.equal(signal, 'SIGKILL')
  t.match(output, '"reason":"the supervisor is gone","msg":"stopping"')
  t.strictSame(messages(output).slice(-2), ['draining', 'closed'])
})

t.test('K-018 a signal that reaches both processes counts once, a second one to the supervisor kills', async (t) => {
  const both = started(t)
  const { pid } = await ask(await both.opened(1))
  both.child.kill('SIGINT')
  process.kill(pid, 'SIGINT')
  t.match(await both.ended(), { code: 0, signal: null })
  t.strictSame(messages((await both.ended()).output).slice(-3), ['stopping', 'draining', 'closed'])

  const patient = started(t, [], 'patient')
  await patient.opened(1)
  patient.child.kill('SIGTERM')
  await patient.said('draining')
  patient.child.kill('SIGTERM')
  const { code, output } = await patient.ended()
  t.equal(code, 130)
  t.notMatch(output, 'closed')
})

t.test('K-018 a signal after the product has stopped has no effect', async (t) => {
  const [supervising = '', struck = ''] = ['supervising.ts', 'struck.js'].map((file) =>
    join(import.meta.dirname, 'fixtures', file),
  )
  const endOf = async (signal: 'SIGINT' | 'SIGTERM' | 'SIGKILL', wish: string) => {
    const supervisor = watchProcess(t, spawn(process.execPath, [supervising, struck, signal, wish]))
    await supervisor.until(supervisor.output, 'it runs')
    return supervisor.end(signal === 'SIGKILL' ? 'SIGTERM' : signal)
  }
  t.strictSame(await endOf('SIGINT', 'ready'), [0, null])
  t.strictSame(await endOf('SIGTERM', 'ready'), [0, null])
  t.strictSame(await endOf('SIGINT', 'unready'), [130, null], 'a start that it cut short was interrupted')
  t.strictSame(await endOf('SIGKILL', 'ready'), [137, null], 'who is killed has not stopped in order')
})

t.test('K-018 the supervisor ends with the exit code of the product', async (t) => {
  const killed = started(t)
  const { pid } = await ask(await killed.opened(1))
  process.kill(pid, 'SIGKILL')
  t.not((await ask(await killed.opened(2))).pid, pid, 'a product that was killed is started again')
  killed.child.kill('SIGTERM')
  const { code, output } = await killed.ended()
  t.equal(code, 0)
  t.match(output, 'The product crashed (SIGKILL), 1 of at most 8 times within 10 minutes. It is started again in 1 s.')
  t.match(await started(t, ['--rol']).ended(), { code: 2, output: "unknown option '--rol'" })
  t.match(await started(t, ['--set', 'platform.greeter.greting=x']).ended(), { code: 3, output: 'Did you mean' })
})

t.test('K-018 without a supervisor the process ends with 75', async (t) => {
  const alone = started(t, ['--no-supervisor'])
  const url = await alone.opened(1)
  t.match(await ask(`${url}/restart`), { supervised: 'external', pid: alone.child.pid })
  const { code, signal, output } = await alone.ended()
  t.strictSame([code, signal], [75, null])
  t.strictSame(messages(output), [
    'settings file read',
    'open',
    'started',
    'restart requested',
    'stopping',
    'draining',
    'closed',
  ])

  t.match(await started(t, ['--no-supervisor'], 'early').ended(), { code: 75, output: 'The start was cancelled' })
  const stuck = started(t, ['--no-supervisor'], 'stop')
  await ask(`${await stuck.opened(1)}/restart`)
  t.match(await stuck.ended(), { code: 75, output: /PLINTH_STOP_FAILED[\s\S]*the door is stuck/ })

  const reported = started(t, ['--no-supervisor'], 'patient')
  const door = await reported.opened(1)
  await ask(`${door}/restart`)
  await reported.said('draining')
  reported.child.kill('SIGTERM')
  // Waits for one more tick of the product, because the order of a concurrent signal and request is not defined.
  await ask(door)
  await ask(`${door}/farewell`)
  t.match(await reported.ended(), { code: 0 }, 'the first stop request decides')
})

t.test('a command, and a stop that is running, cannot request a restart', async (t) => {
  const restarts: string[] = []
  const onRestartRequest = (reason: string) => restarts.push(reason)
  const command = await startForTest(greeterProduct, { roles: ['cli'], onRestartRequest })
  command.requestRestart('nobody serves')
  t.equal(command.state, 'ready')
  await command.stop('test ended')
  const running = await startForTest(productOf([]), { onRestartRequest, supervised: 'plinth' })
  t.equal(running.supervised, 'plinth')
  const stopped = running.stop('test ended')
  running.requestRestart('too late')
  await stopped
  t.strictSame(restarts, [])
  const embedded = await startForTest(productOf([]), { onRestartRequest })
  t.equal(embedded.supervised, 'external')
  embedded.requestRestart('first')
  embedded.requestRestart('second')
  await embedded.stopped
  t.equal(embedded.state, 'stopped')
  t.strictSame(restarts, ['first'])
})

t.test('only `plinth start` is supervised', async (t) => {
  const lines: [line: string, serves: boolean][] = [
    ['start', true],
    ['--product shop.config.ts --set a=start --json start --role web', true],
    ['--product=shop.config.ts --settings-file start start', true],
    ['config get start', false],
    ['--product start config list', false],
    ['--help', false],
    ['', false],
  ]
  for (const [line, expected] of lines) t.equal(parseServingCommand(line.split(' ')) === 'start', expected, line)
})

t.test('K-018 the fifth restart within a minute is the last one', async (t) => {
  const restless = join(import.meta.dirname, 'fixtures', 'restless.js')
  const file = join(t.testdir(), 'starts')
  const at = (monotonic: () => number) => ({ ...manualClock(), monotonic })
  const starts = () => readFileSync(file, 'utf8').split(' ').length - 1
  await rejectsWith(
    t,
    runSupervised(
      restless,
      [file],
      at(() => 0),
    ),
    {
      code: 'PLINTH_RESTART_LOOP',
      message: 'The product requested a restart 6 times within 60 seconds and is not started again.',
    },
  )
  t.equal(starts(), 6)
  // Eleven restarts with long pauses, then several without pauses.
  const times = [...Array.from({ length: 11 }, (_, index) => index * 12_000), ...Array(9).fill(121_000)]
  await rejectsWith(
    t,
    runSupervised(
      restless,
      [file],
      at(() => times.shift() ?? 0),
    ),
    {
      code: 'PLINTH_RESTART_LOOP',
    },
  )
  t.equal(starts(), 6 + 12)
})

/** Splits the output of a product into its crash reports and the remaining lines. */
function crashesIn(output: string) {
  const lines = output.split('\n').filter((line) => line !== '')
  const crashes = lines.filter((line) => line.includes('"msg":"crashed'))
  const rest = lines.filter((line) => !line.startsWith('{'))
  return { crashes: crashes.map((line) => JSON.parse(line)), rest }
}

t.test('K-018 an uncaught error is one masked log line; the product drains, stops and exits with 1', async (t) => {
  const kinds = [
    [
      '/forgotten',
      'unhandledRejection',
      'crashed: nobody awaits ******',
      { stack: /^Error: nobody awaits \*{6}\n\s+at forgotten/ },
    ],
    [
      '/timer',
      'unhandledRejection',
      'crashed: nobody awaits ******',
      { stack: /at forgotten \(.*fragile\.config\.ts:\d+/ },
    ],
    [
      '/sync',
      'uncaughtException',
      'crashed: no such thing as ******',
      { stack: /fragile/, cause: { stack: /deep down \*{6}/ } },
    ],
  ] as const
  for (const [path, origin, msg, err] of kinds) {
    const { ended, opened } = started(t, ['--no-supervisor'], 'none', fragile)
    const url = await opened(1)
    const slow = fetch(`${url}/slow`)
    await fetch(`${url}${path}`)
    t.match(await (await slow).text(), 'done by', 'a request under way is answered')
    const { code, signal, output } = await ended()
    t.strictSame([code, signal], [1, null], path)
    const { crashes, rest } = crashesIn(output)
    assertMembers(t, crashes, [{ level: 'fatal', plugin: 'fragile', origin, msg, err }])
    t.strictSame(rest, [], 'nothing raw is written')
    t.notMatch(output, 'open sesame')
    t.strictSame(messages(output).slice(-3), ['stopping', 'draining', 'released'], 'what it held is released')
  }
  const text = started(t, ['--no-supervisor'], 'none', fragile)
  await fetch(`${await text.opened(1)}/text`)
  const mere = crashesIn((await text.ended()).output)
  assertMembers(t, mere, { crashes: [{ msg: /^crashed: .*a mere text with \*{6}/ }], rest: [] })
  const twice = started(t, ['--no-supervisor'], 'none', fragile)
  await fetch(`${await twice.opened(1)}/twice`)
  const many = await twice.ended()
  t.equal(many.code, 1)
  t.equal(crashesIn(many.output).crashes.length, 10, 'the log does not fill up')
})

t.test('K-018 a plugin that ends the process causes a crash, whatever the exit code', async (t) => {
  for (const exitCode of [0, 2, 3, 75]) {
    const { child, ended, opened, said } = started(t, [], 'none', fragile)
    await fetch(`${await opened(1)}/exit/${exitCode}`)
    await said('The product crashed (exit code 1), 1 of at most 8 times')
    child.kill('SIGTERM')
    const { code, output } = await ended()
    t.equal(code, 0, 'it ends as asked')
    const message = `The process was ended by plugin "fragile" with exit code ${exitCode}, although no stop was requested.`
    assertMembers(t, crashesIn(output).crashes, [
      { level: 'fatal', plugin: 'fragile', exitCode, code: /^PLINTH_PROCESS_ENDED$/, msg: `crashed: ${message}` },
    ])
    t.match(output, 'fragile.config.ts', 'the stack leads to the call')
  }
  const alone = started(t, ['--no-supervisor'], 'none', fragile)
  await fetch(`${await alone.opened(1)}/exit/0`)
  t.match(await alone.ended(), { code: 1, output: /crashed: The process was ended by plugin/ })
})

t.test('K-018 a product that sends itself a signal is started again', async (t) => {
  const { child, ended, opened } = started(t, [], 'none', fragile)
  await fetch(`${await opened(1)}/kill`)
  await opened(2)
  child.kill('SIGTERM')
  const { code, output } = await ended()
  t.equal(code, 0)
  t.match(output, 'The product crashed (exit code 0), 1 of at most 8 times within 10 minutes.')
})

t.test('K-018 a start or a command that a plugin ends fails, and the message names the plugin', async (t) => {
  const set = ['--set', 'platform.fragile.at-start=exit']
  const { code, output } = await started(t, set, 'none', fragile).ended()
  t.equal(code, 1)
  assertMembers(t, crashesIn(output).crashes, [{ plugin: 'fragile', exitCode: 0, code: 'PLINTH_PROCESS_ENDED' }])
  const command = (...words: string[]) => {
    const options = { encoding: 'utf8', env: programEnvironment(), timeout: 300_000 } as const
    return spawnSync(process.execPath, [program, ...words, ...set, '--product', fragile], options)
  }
  const message = 'The process was ended by plugin "fragile" with exit code 0, although no stop was requested.'
  const doctor = command('doctor')
  t.strictSame([doctor.status, doctor.stdout], [1, ''])
  t.match(doctor.stderr, `PLINTH_PROCESS_ENDED: ${message}\nFix: Remove the call of process.exit()`)
  t.match(doctor.stderr, /at setup .*fragile\.config\.ts:\d+/)
  const json = command('doctor', '--json')
  t.equal(json.status, 1)
  t.match(JSON.parse(json.stdout), { error: { code: /^PLINTH_PROCESS_ENDED$/, message } })
})

t.test(
  'K-018 a start that ends the process is reported with its plugin, although no frame of the plugin is on the stack',
  async (t) => {
    const set = ['--set', 'platform.fragile.at-start=exit-without-frame']
    const { code, output } = await started(t, set, 'none', fragile).ended()
    t.equal(code, 1)
    assertMembers(t, crashesIn(output).crashes, [{ plugin: 'fragile', exitCode: 0, code: 'PLINTH_PROCESS_ENDED' }])
  },
)

t.test('K-018 a product file that waits for something that never happens fails', async (t) => {
  const waiting = join(import.meta.dirname, 'fixtures', 'waiting.config.js')
  const { code, output } = await started(t, [], 'none', waiting).ended()
  t.equal(code, 1)
  t.match(output, 'PLINTH_PROCESS_ENDED: The process was ended with exit code 13, although no stop was requested.')
})

t.test('K-018 a crash in the first start ends the program immediately, after resources are released', async (t) => {
  const notes = join(t.testdir(), 'notes')
  const set = ['--set', 'platform.fragile.at-start=setup', '--set', `platform.fragile.notes=${notes}`]
  const { ended } = started(t, set, 'none', fragile)
  const { code, output } = await ended()
  t.equal(code, 1)
  assertMembers(t, crashesIn(output).crashes, [{ plugin: 'fragile', msg: 'crashed: nobody awaits ******' }])
  t.notMatch(output, /open sesame|started again/)
  t.equal(readFileSync(notes, 'utf8'), 'released ')
})

t.test('K-018 a crashed product comes back after a pause, and a signal ends the pause', async (t) => {
  const { child, ended, opened, said } = started(t, [], 'none', fragile)
  await fetch(`${await opened(1)}/timer`)
  const again = await opened(2)
  t.match(await (await fetch(again)).text(), 'done by', 'it serves again')
  await fetch(`${again}/forgotten`)
  await said('2 of at most 8 times within 10 minutes. It is started again in 2 s.')
  child.kill('SIGTERM')
  const { code, output } = await ended()
  t.equal(code, 0)
  t.equal(output.split('"msg":"started"').length - 1, 2)
})

t.test(
  'K-018 the pauses grow, the eighth crash within ten minutes is the last one, and a quiet period resets the pause',
  async (t) => {
    const crashing = join(import.meta.dirname, 'fixtures', 'crashing.js')
    const directory = t.testdir()
    const run = async (crashes: number, wish: string, betweenMs: number, exitCode = '1') => {
      const file = join(directory, `starts-${crashes}-${wish}-${betweenMs}`)
      let now = 0
      const pauses: number[] = []
      const clock = {
        ...manualClock(),
        monotonic: () => now,
        sleep: async (ms: number) => {
          pauses.push(ms / 1000)
          now += betweenMs
        },
      }
      const end = await runSupervised(crashing, [file, String(crashes), wish, exitCode], clock).catch(
        (error: unknown) => error,
      )
      return { end, pauses, starts: readFileSync(file, 'utf8').split(' ').length - 1 }
    }
    const hopeless = await run(99, 'ready', 1000)
    t.match(hopeless.end, {
      code: /^PLINTH_CRASH_LOOP$/,
      message: 'The product crashed 8 times within 10 minutes and is not started again.',
    })
    t.strictSame([hopeless.pauses, hopeless.starts], [[1, 2, 4, 8, 16, 32, 60], 8])

    const healed = await run(3, 'ready', 1000)
    assertMembers(t, healed, { end: 3, pauses: [1, 2, 4], starts: 4 }, 'a start that is rejected ends it')
    const calm = await run(12, 'ready', 200_000)
    assertMembers(
      t,
      calm,
      { end: 3, pauses: [1, 2, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4], starts: 13 },
      'old crashes do not count',
    )
    for (const exitCode of ['0', '2', '3', '130']) {
      const ended = await run(99, 'ready', 1001 + Number(exitCode), exitCode)
      t.hasStrict(
        ended,
        { end: { code: 'PLINTH_CRASH_LOOP' }, starts: 8 },
        `exit code ${exitCode} of a product that served`,
      )
    }
    t.hasStrict(
      await run(99, 'unready', 1000),
      { end: { code: 'PLINTH_CRASH_LOOP' }, starts: 8 },
      'a start that fails counts',
    )
    t.match(await run(99, 'refused', 1000), { end: 3, starts: 2 }, 'a refused configuration ends it')

    const file = join(directory, 'stopped')
    const stopped = await runSupervised(crashing, [file, '99', 'ready'], {
      ...manualClock(),
      sleep: async (_, signal) => {
        // Calls only the last listener, which belongs to the supervisor. The listener of the test runner would end the
        // test.
        process.listeners('SIGTERM').at(-1)?.('SIGTERM')
        t.ok(signal?.aborted)
      },
    })
    t.strictSame([stopped, readFileSync(file, 'utf8')], [0, 'started '], 'a signal ends the pause')
  },
)
